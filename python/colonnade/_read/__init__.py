"""`read_sql` and the functions like it: one source, one destination."""
