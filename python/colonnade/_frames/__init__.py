"""Destinations: from Arrow streams to dataframes, arrays and files. Nothing here knows where the rows come from."""
