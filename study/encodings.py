"""Common code of the experiments on bytes, which bench/wire measures (`colonnade-bench --experiment …`).

A measurement is the CPU time of one thread for encoding and for decoding the rows of a table, and the number of bytes.
The decoded rows are compared with the original. No socket is used, so the time on a link is computed.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Mapping
from typing import Any

import data

from study.experiment import Context, Row, Unmeasurable

#: The paper's names of our tables. Our flights replace its ontime data.
PAPERS_TABLE = {"lineitem": "lineitem", "acs": "ACS", "flights": "ontime"}
#: Mbit/s of the paper's links. Latency is omitted, because it adds the same to all.
RATES = {"local": None, "1000 Mbit/s": 1000.0, "100 Mbit/s": 100.0, "10 Mbit/s": 10.0}
COMPUTED = (
    "The times are the CPU time of one thread for encoding and decoding. Each result was compared with the original. "
    "The time on a link is computed: the bytes divided by the link's rate, added to the CPU time."
)


def measured(context: Context, experiment: str, tables: Mapping[str, int]) -> list[Row]:
    """Runs an experiment on the first rows of each table."""
    program = context.programs / "colonnade-bench"
    if not program.exists():
        raise Unmeasurable(f"{program} is missing: cargo build --release -p colonnade-bench")
    rows: list[Row] = []
    for table, count in tables.items():
        data.write(table)
        found = context.scratch / f"{experiment}-{table}.json"
        words = ["--experiment", experiment, "--table", table, "--rows", count, "--rounds", context.size.rounds]
        subprocess.run([program, *map(str, words), "--data", data.DIRECTORY, "--json", found], check=True)
        rows += json.loads(found.read_text())
    return rows


def of_equal_size(context: Context, share: int = 1) -> dict[str, int]:
    """Rows of each of the paper's tables, of about equal size: a row of acs is as large as ten others."""
    rows = context.size.rows // share
    return {"lineitem": rows, "acs": rows // 10, "flights": rows}


def papers(columns: Iterable[str], lines: Iterable[tuple[Any, ...]]) -> list[Row]:
    """Rows of a table of the paper."""
    return [dict(zip(columns, line, strict=True)) | {"paper": True} for line in lines]


def ours(rows: Iterable[Row], **what: object) -> list[Row]:
    """The measured rows that have these values."""
    return [row for row in rows if not row.get("paper") and all(row[name] == value for name, value in what.items())]


def theirs(rows: Iterable[Row], **what: object) -> list[Row]:
    """The paper's rows that have these values."""
    return [row for row in rows if row.get("paper") and all(row[name] == value for name, value in what.items())]


def one(rows: Iterable[Row], **what: object) -> Row:
    """The measured row that has these values."""
    [row] = ours(rows, **what)
    return row


def values(rows: Iterable[Row], name: str) -> list[Any]:
    """The values of a field in the measured rows, in order of appearance."""
    return list(dict.fromkeys(row[name] for row in ours(rows)))


def named(row: Row) -> str:
    return row["layout"] if row["codec"] == "none" else f"{row['layout']}, {row['codec']}"


def seconds(row: Row, rate: float | None = None) -> float:
    """For a million rows: encoding, decoding, and sending the bytes over a link of `rate` Mbit/s."""
    link = row["bytes"] * 8 / (rate * 1e6) if rate else 0.0
    return (row["encode_seconds"] + row["decode_seconds"] + link) / row["rows"] * 1e6


def bytes_per_row(row: Row) -> float:
    return row["bytes"] / row["rows"]


def listed(parts: Iterable[str]) -> str:
    """`a, b and c`."""
    *most, last = parts
    return f"{', '.join(most)} and {last}" if most else last
