"""The HTML page on a design or a result."""
