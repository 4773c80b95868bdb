"""Where `colonnade read` writes: a file, standard output, or a directory of Parquet files."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from colonnade._errors import InterfaceError
from colonnade._frames.output import FORMATS, STREAMS, SUFFIXES, format_of, write, write_stream
from colonnade._frames.partitioned import write_partitioned

if TYPE_CHECKING:
    import argparse

    import pyarrow as pa


@dataclass(frozen=True)
class Destination:
    """The options of the output, checked."""

    #: None is standard output.
    path: Path | None
    #: A key of FORMATS.
    format: str
    #: The columns whose values name the directories.
    keys: list[str]

    @classmethod
    def of(cls, output: str, format: str | None, keys: list[str]) -> Destination:
        """Checks the options before anything is read."""
        if output == "-":
            if format not in STREAMS or keys:
                raise InterfaceError(f"-o - needs --format {', '.join(STREAMS[:-1])} or {STREAMS[-1]}")
            if sys.stdout is None:
                raise InterfaceError("-o -: standard output is closed")
            if format == "arrow" and sys.stdout.isatty():
                raise InterfaceError("Arrow is not text for a terminal: write it to a file or a pipe")
            return cls(None, format, [])
        path = Path(output)
        if keys:
            if format not in (None, "parquet"):
                raise InterfaceError(f"--partition-by writes Parquet, not {format}")
            return cls(path, "parquet", keys)
        return cls(path, format or format_of(path), [])

    def write(self, schema: pa.Schema, batches: Iterable[Any]) -> None:
        """Writes all batches. An error leaves no file."""
        kind = FORMATS[self.format]
        if self.path is None:
            # Nothing but data is written to standard output, so its own buffer is empty.
            with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as file:
                write_stream(file, kind, schema, batches)
        elif self.keys:
            write_partitioned(self.path, self.keys, schema, batches)
        else:
            write(self.path, kind, schema, batches)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the options of the output."""
    parser.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help=f"where to write: a name that ends in {', '.join(SUFFIXES)}; it appears only once it is complete;"
        " - is standard output",
    )
    parser.add_argument(
        "--format",
        choices=list(FORMATS),
        help=f"the format, if the name does not tell it; standard output takes {', '.join(STREAMS)}",
    )
    parser.add_argument(
        "--partition-by",
        metavar="COLUMN",
        action="append",
        default=[],
        help="FILE is a new directory of Parquet files in directories COLUMN=VALUE (Hive's layout); may be repeated",
    )
