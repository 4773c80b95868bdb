"""`colonnade.aio`."""
