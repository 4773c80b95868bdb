"""Colonnade's ADBC driver, through ADBC's own driver manager, towards each kind of database."""
