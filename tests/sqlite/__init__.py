"""SQLite files as sources."""
