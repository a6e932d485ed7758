"""Learning a distribution through a channel: estimators, losses, and what privacy costs them."""
