"""What `read_sql` and `connect` do with a source, whichever it is."""
