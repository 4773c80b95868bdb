"""Tests with real servers and clients. The docstring of each package here says what is tested in it."""
