"""`scan_sql`: queries as polars' lazy frames."""
