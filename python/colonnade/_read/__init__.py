"""`read_sql` and the functions beside it: one source, one destination."""
