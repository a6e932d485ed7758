"""The shapes of questions on which problems and solvers agree, one form per file."""
