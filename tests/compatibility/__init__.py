"""Recorded conversations of each release, against today's client, server and extension."""
