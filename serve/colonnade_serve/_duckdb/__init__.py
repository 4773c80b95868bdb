"""DuckDB's SQL: exact casts, and for the server its engine, fences and PostgreSQL's catalog."""
