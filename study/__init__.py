"""The study: repeats the papers' measurements with current systems. `make study`; `python -m study --help`."""
