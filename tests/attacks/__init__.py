"""Hostile clients, servers, statements and values."""
