"""DuckDB as the server's engine: sessions, fences, PostgreSQL's catalog, and functions in Python.

`session.py` is what Rust calls. `runner.py` runs a checked statement and streams its rows. `lifetime.py` begins and
ends statements with their transactions.

The SQL of these modules writes DuckDB's functions as `system.main.…` and uses none of DuckDB's macros, because a macro
of the database with the same name would be called otherwise. One name cannot be written so: `python_arrow_scan`
(`colonnade._sources.duckdb_types.arrow_scan`).

DuckDB expands a macro by putting the arguments into its text, with the names of the caller's tables. Within a subquery
over a table of the same name, an argument would be the macro's own column. So the catalog's macros name parameters only
where no table of the macro is in scope: `FROM (SELECT parameter) AS argument(name), …`
(`tests/serve/test_macros.py`).
"""
