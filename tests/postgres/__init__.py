"""PostgreSQL as a source, with and without the extension."""
