"""Writing into tables with `write_sql`: what each value becomes, and that a table gets all rows or none."""
