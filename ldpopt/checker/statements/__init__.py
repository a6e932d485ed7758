"""What the kinds of files claim: each file maps parameters to the theorems of the kernel."""
