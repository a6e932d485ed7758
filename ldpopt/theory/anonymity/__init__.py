"""Statistical anonymity: how many people a release of features exposes."""
