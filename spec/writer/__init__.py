"""A small writer of Colonnade streams, for making vectors. The caller states every encoding."""
