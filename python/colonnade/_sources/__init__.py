"""Sources: from a URI to Arrow streams. Nothing here knows what becomes of the rows."""
