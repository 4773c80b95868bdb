"""A tiny writer of Colonnade streams, for making vectors. It encodes as it is told and chooses nothing by itself."""
