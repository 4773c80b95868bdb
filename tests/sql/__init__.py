"""The crate `core/sql/` against the parsers of the databases."""
