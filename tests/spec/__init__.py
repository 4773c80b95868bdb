"""The specification against the code."""
