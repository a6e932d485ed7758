"""What reports tell about a population: priors, posteriors, information-theoretic metrics."""
