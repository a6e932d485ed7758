"""What the problems of robust LDP share: bounds on ranges of splits, and proofs in exact arithmetic."""
