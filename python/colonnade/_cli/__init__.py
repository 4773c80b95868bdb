"""The command `colonnade`."""
