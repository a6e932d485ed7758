"""What every statement rests on: arithmetic, reading, claims; in ``proofs`` the theorems."""
