"""Decide every claim of a result file, with the standard library alone."""
