"""Robust local differential privacy: protect a secret against a set of distributions."""
