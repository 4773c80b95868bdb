"""The cases of ADBC's own suites (adbc-drivers/validation, c/validation of arrow-adbc), under their names."""
