"""Scripts that were written for pandas or ConnectorX, with only their import changed."""
