"""The vocabulary that all packages of ldpopt share: mechanisms, forms, problems, solvers, errors."""
