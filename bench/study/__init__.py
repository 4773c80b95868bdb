"""The study: what the papers measured, with the systems of today. `make study`; `python -m study --help`."""
