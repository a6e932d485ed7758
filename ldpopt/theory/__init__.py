"""The mathematics of column programs and of the five topics built on them, one package each."""
