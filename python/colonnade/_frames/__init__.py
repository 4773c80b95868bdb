"""Destinations: from Arrow streams to dataframes, arrays and files. Destinations do not know the sources."""
