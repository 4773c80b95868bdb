"""The options of a query: their names, types and checks."""
