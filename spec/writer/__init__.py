"""A tiny writer of Colonnade streams that encodes what it is told to, for making vectors. It chooses nothing by itself."""
