"""Systems that read in parts, over several connections, for the experiments of ConnectorX's evaluation."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from study.experiment import Part, Row, Table
from study.medians import median, names, reason
from study.systems import System

#: The columns by which a table is partitioned: integers, as ConnectorX and Dask need them.
KEYS = {"lineitem": "l_orderkey", "ddos": "id"}
#: The number of parts of a reading without partitions.
WHOLE = 0

DASK = System("PostgreSQL, Dask", "postgres", "dask", {"partition_num": 1, "partition_on": "l_orderkey"}, is_slow=True)


def named(system: str, parts: int) -> str:
    return f"{system}, {parts} part{'s' * (parts > 1)}" if parts else system


def in_parts(system: System, parts: int, key: str, *, is_join: bool = False) -> System:
    """The system, reading in this number of parts. Colonnade needs a key for a join, and with MariaDB, whose tables
    have no primary key here. Otherwise it partitions a table by the location of its rows."""
    is_needed = is_join or not system.is_ours or system.database == "mariadb"
    options = {**system.options, **({"partition_on": key} if is_needed else {})}
    if parts:
        options["partition_num"] = parts
    elif system.reader != "dask":
        options = system.options
    return replace(system, name=named(system.name, parts), options=options)


def can_part(system: System) -> bool:
    return system.is_ours or system.reader in ("connectorx", "dask")


def variants(wanted: Iterable[System], counts: Iterable[int], key: str, *, is_join: bool = False) -> list[System]:
    """Each system without partitions, and in this number of parts if it supports that."""
    return [
        in_parts(system, parts, key, is_join=is_join)
        for system in wanted
        for parts in (counts if can_part(system) else [WHOLE])
    ]


def with_cores(rows: list[Row]) -> list[Row]:
    """The rows with the number of cores that client and server shared."""
    return [{**row, "cores": os.cpu_count()} for row in rows]


def has_free_cores(rows: list[Row], parts: int) -> bool:
    """The paper's condition for partitions: for each part, one core for the client and one for the server."""
    return int(next((row["cores"] for row in rows if "cores" in row), 0) or 0) >= 2 * (parts or 1)


def condition(rows: list[Row], parts: int) -> str:
    """A sentence for the report, if the paper's condition does not hold."""
    if has_free_cores(rows, parts):
        return ""
    cores = next((row["cores"] for row in rows if "cores" in row), None)
    shared = "share the machine's cores" if cores is None else f"share {cores} cores"
    return f"Client and server {shared} here; in the paper each part had a core on either side."


def memory(rows: list[Row], **where: object) -> float | None:
    """MB of a client's peak memory, without the memory of its libraries."""
    peak, before = median(rows, "client_peak", **where), median(rows, "client_before", **where)
    return None if peak is None or before is None else (peak - before) / 1e6


def not_measured(rows: list[Row]) -> list[Part]:
    """The systems that failed, with the reasons."""
    lines = [
        [name, table, why]
        for table in names(rows, "table")
        for name in names(rows)
        if (why := reason(rows, system=name, table=table))
    ]
    return [Table("Not measured", ["", "", "why"], lines)] if lines else []
