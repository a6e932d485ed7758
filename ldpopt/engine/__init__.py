"""From a problem to a verified result: choose a solver, run it, certify and store what it found."""
