"""Statistic maximal leakage: what a release tells about a secret statistic of the data."""
