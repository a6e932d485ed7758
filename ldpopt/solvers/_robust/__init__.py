"""Column generation and bounds over the cones of robust LDP."""
