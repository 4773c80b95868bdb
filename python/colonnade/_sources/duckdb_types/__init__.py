"""DuckDB's types: exact casts and exact writes, files and their logs. `colonnade serve` uses them too."""
