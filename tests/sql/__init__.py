"""The crate `sql/` against the parsers of the databases."""
