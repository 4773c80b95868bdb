"""`colonnade serve`: what it answers, refuses and reports."""
