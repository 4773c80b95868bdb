"""The commands `colonnade serve`, `user`, `udf` and `ml`."""
