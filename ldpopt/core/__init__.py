"""The vocabulary that every room shares: mechanisms, forms, problems, solvers, errors."""
