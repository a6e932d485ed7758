"""The benchmark: the same random instances for every solver, and the page on it."""
