"""Writing into tables: `write_sql`, and the stream that data of any kind becomes."""
