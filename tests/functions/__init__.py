"""Functions in Python in `colonnade serve`."""
