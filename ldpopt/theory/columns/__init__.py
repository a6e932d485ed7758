"""Column programs: cones of private columns, utilities that sum over columns, their linear program."""
