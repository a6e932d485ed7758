"""Selections with their proofs, and design under a leakage budget."""
