"""Sources: from a URI to Arrow streams. Sources do not know the destinations."""
