"""Servers that tests and benchmarks start: PostgreSQL, MariaDB and `colonnade serve`."""
