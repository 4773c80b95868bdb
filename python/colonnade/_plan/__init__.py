"""`plan`: a result in parts, by ticket, for any process that can reach the database."""
