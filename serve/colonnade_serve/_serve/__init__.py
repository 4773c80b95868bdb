"""The processes of `colonnade serve`."""
