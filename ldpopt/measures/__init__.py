"""What is measured of a mechanism or a table: levels, leakages, information, fidelity, exposure."""
