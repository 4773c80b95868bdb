"""Plans: results in parts by ticket, read by other processes."""
