"""Robust local differential privacy: hide a secret against every distribution of an uncertainty set."""
