"""Large query results into dataframes, as fast as the link allows."""

from ._core import __version__

__all__ = ["__version__"]
