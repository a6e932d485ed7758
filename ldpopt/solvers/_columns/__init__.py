"""Column generation and its relatives, for any cone of boxes."""
