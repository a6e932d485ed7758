"""What a question is made of: cones of columns, utilities, uncertainty sets, priors, secrets."""
