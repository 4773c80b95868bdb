"""Whole programs of other projects' tools, against `colonnade serve` and against PostgreSQL: `make test-tools`."""
