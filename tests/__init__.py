"""Tests with real servers and clients. A package here is a room; its docstring says what is tested in it."""
