"""An independent reader of Colonnade streams, in plain Python, written from FORMAT.md alone."""

from .errors import FormatError, Kind
from .stream import Limits, Stream, read_stream

__all__ = ["FormatError", "Kind", "Limits", "Stream", "read_stream"]
