"""What tests of several rooms know by heart."""

TABLE = [[0.20, 0.10, 0.05], [0.05, 0.25, 0.10], [0.02, 0.08, 0.15]]
"""A joint distribution of three secret and three public values: the table of the documentation."""

NASTY = '<b>&"'
"""A name that a page must escape."""
