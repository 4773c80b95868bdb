"""Rows on their way into a table: data of any kind as a stream, the write, and rows that are appended one by one."""
