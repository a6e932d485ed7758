"""What a question is made of: notions of privacy, objectives, cones, uncertainty sets, priors, secrets."""
