"""What a result becomes: Arrow, pandas, polars, NumPy, DuckDB, files."""
