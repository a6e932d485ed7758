"""From a table to a mechanism, from a mechanism to released data, from released data to estimates."""
