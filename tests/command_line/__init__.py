"""The commands `colonnade read`, `bench` and `demo`."""
