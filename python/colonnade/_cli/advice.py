"""What would make reads faster, and how to do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .installation import Installation
    from .source_check import SourceReport

#: Bytes a second of 1 Gbit/s. On slower links compression saves more time than it costs (docs/explanation/adaptive.md).
_SLOW = 125_000_000
#: A library that makes frames, by the name of its package.
_FRAMES = ("pyarrow", "pandas", "polars")
#: The most parts that `read_sql` chooses by itself.
_MOST_PARTS = 8


@dataclass(frozen=True)
class Advice:
    """One thing to do."""

    what: str
    how: str


def advice(installed: Installation, source: SourceReport | None) -> list[Advice]:
    """The advice for this machine and, if there is one, this source; the most useful first."""
    found: list[Advice] = []
    if installed.build == "debug":
        what = "this build has debug assertions: it decodes many times slower than a release build"
        found.append(Advice(what, "install the wheel of a release, or build one: make dist"))
    if installed.extras and all(installed.packages.get(name) is None for name in _FRAMES):
        found.append(Advice("no dataframe library is installed", "pip install 'colonnade[pandas]', or [polars]"))
    if source is not None and source.is_usable:
        found += _extension(source)
        found += _gateway(source)
        found += _parts(source, installed.cpus)
    return found


def _extension(source: SourceReport) -> list[Advice]:
    if source.extension is None:
        return []
    there, files = source.extension["installed"], source.extension["available"]
    if there is not None and files is not None and there != files:
        what = f"the extension is version {there} in this database, and its files on the server are version {files}"
        return [Advice(what, "run in this database: ALTER EXTENSION colonnade UPDATE")]
    if source.stream_format is not None:
        return []
    what = "PostgreSQL sends rows. With the extension it sends compressed columns, for less CPU on both sides"
    if files is not None:
        return [Advice(f"{what}. Its files are on the server", "run in this database: CREATE EXTENSION colonnade")]
    how = (
        "on the server, in a clone of the repository: make -C pg && sudo make -C pg install; then in this database: "
        "CREATE EXTENSION colonnade (docs/reference/extension.md)"
    )
    return [Advice(what, how)]


def _gateway(source: SourceReport) -> list[Advice]:
    """A server of this package near the database, if the link is slow and nothing is compressed on it."""
    rate = source.throughput["bytes_per_second"] if source.throughput else None
    if source.stream_format is not None or source.socket != "tcp" or rate is None or rate >= _SLOW:
        return []
    what = f"the link carries {rate / 1e6:.3g} MB/s without compression. A server near the database compresses"
    return [Advice(what, "there: colonnade serve --source URI (docs/how-to/gateway.md)")]


def _parts(source: SourceReport, cpus: int) -> list[Advice]:
    """Several connections, where one backend and one decoder are the limit."""
    if source.stream_format is not None or source.socket is None or cpus < 2:
        return []
    count = min(cpus, _MOST_PARTS)
    what = f"one connection uses one CPU on each side, and this process may use {cpus}"
    return [Advice(what, f"large tables: read_sql(…, partition_num={count}) (docs/how-to/partitions.md)")]
