"""Packages and releases: `make dist` (`dist.py`) and `make release` (`publish.py`)."""
