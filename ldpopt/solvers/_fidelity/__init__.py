"""Optimal designs, by an interior-point method."""
