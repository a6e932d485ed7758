"""What a question is made of: privacy, objectives, cones, uncertainty sets, priors, secrets."""
