"""ODBC data sources."""
