"""Measure what a mechanism promises and what its reports give away."""
