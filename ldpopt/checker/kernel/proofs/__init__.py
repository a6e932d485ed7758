"""The theorems by which a claim is accepted: each file has its lemmas, and the lines that decide."""
