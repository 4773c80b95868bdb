"""Where `pandas.read_sql` spends time and memory, step by step, and how much reading in chunks helps."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import laboratory
from matplotlib.axes import Axes
from place import Place

from study import databases, systems
from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table
from study.medians import spread

CLIENT = Path(__file__).parents[1] / "bench" / "breakdown_client.py"
TABLE = "lineitem"
QUERY = f"SELECT * FROM {TABLE}"
#: The number of the run's rows is divided by this, because each value becomes a Python object several times.
SHARE = 4
#: The name in reports, the database, and the driver for SQLAlchemy.
DRIVERS = {"PostgreSQL": ("postgres", "psycopg2"), "MariaDB": ("mariadb", "PyMySQL")}
STEPS = {
    "transfer": "execution and transfer",
    "objects": "into Python objects",
    "frame": "into a dataframe",
}
CHUNKS = [100, 1_000, 10_000, 100_000]
#: GB of Table 1.
PAPER = {
    "PostgreSQL": {"raw": 12.4, "objects": 52.6, "frame": 24.4, "peak": 95.6},
    "MySQL": {"raw": 8.18, "objects": 51.5, "frame": 23.3, "peak": 99.1},
}
GB = 1e9


def ask(there: databases.Databases, python: str, address: str, mode: str) -> Row:
    """A new client process."""
    command = [python, str(CLIENT), address, QUERY, mode]
    if there.namespace:
        command = laboratory.inside(there.namespace, *command)
    done = subprocess.run(command, capture_output=True, text=True, timeout=databases.TIME_LIMIT, check=False)
    if done.returncode != 0:
        return {"error": (done.stderr.strip().splitlines() or ["no answer"])[-1][:200]}
    return json.loads(done.stdout.splitlines()[-1])


def run(context: Context) -> list[Row]:
    count = max(1_000, context.size.rows // SHARE)
    wanted = [one for one in systems.SYSTEMS if one.reader == "sqlalchemy"]
    python = context.peers or sys.executable
    rows: list[Row] = []
    with databases.started(context, {TABLE: count}, wanted) as there:
        expected, _, sums = there.expected(QUERY)
        for name, (database, driver) in DRIVERS.items():
            if reason := there.failed.get(database):
                rows.append({"database": name, "mode": "steps", "error": reason})
                continue
            address = Place(**there.started[database].place).sqlalchemy
            known = {"database": name, "driver": driver}
            for mode in ["steps", "whole", *(str(size) for size in CHUNKS if size <= expected)]:
                for _ in range(context.size.rounds):
                    row = ask(there, python, address, mode)
                    if "error" not in row and (wrong := differs(row, expected, [one[1] for one in sums])):
                        row = {"error": wrong}
                    row.pop("sums", None)
                    context.say(f"{name} {mode}: {row.get('error') or round(row['wall'], 2)}")
                    rows.append({**known, "mode": mode, **row})
    for name, sizes in PAPER.items():
        bytes_ = {f"{part}_bytes": size * GB for part, size in sizes.items()}
        rows.append({"database": name, "mode": "steps", "paper": True, **bytes_})
    return rows


def differs(row: Row, rows: int, sums: list[float]) -> str | None:
    """The error of a frame: the sums of its numbers must be among those of the table's columns."""
    if row["rows"] != rows:
        return f"wrong: {row['rows']} rows, not {rows}"
    for found in row["sums"]:
        if not any(abs(found - one) <= 1e-9 * abs(one) for one in sums):
            return f"wrong: no column sums up to {found}"
    return None


def medians(rows: list[Row], database: str, mode: str) -> Row:
    found = [row for row in rows if (row["database"], row["mode"]) == (database, mode) and not row.get("paper")]
    fine = [row for row in found if "error" not in row]
    if not fine:
        return {}
    numbers = [key for key, value in fine[0].items() if isinstance(value, int | float)]
    return {key: statistics.median(row[key] for row in fine) for key in numbers}


def names(rows: list[Row]) -> list[str]:
    """The databases that were measured."""
    return [name for name in DRIVERS if medians(rows, name, "steps")]


def of_time(rows: list[Row]) -> Table:
    lines: list[list[Any]] = []
    for name in DRIVERS:
        found = medians(rows, name, "steps")
        if not found:
            error = next((row["error"] for row in rows if row["database"] == name and "error" in row), "not measured")
            lines.append([name, error, *[None] * (len(STEPS) + 2)])
            continue
        shares = [found[f"{step}_wall"] for step in STEPS]
        client = 100 * (1 - shares[0] / sum(shares))
        timed = [spread(rows, f"{step}_wall", database=name, mode="steps") for step in STEPS]
        lines.append([name, "", *timed, client, spread(rows, "wall", database=name, mode="whole")])
    columns = ["", "", *(f"{words} s" for words in STEPS.values()), "on the client %", "pandas.read_sql s"]
    return Table("Time of each step (Figure 2)", columns, lines)


def of_memory(rows: list[Row]) -> Table:
    lines: list[list[Any]] = []
    for name in names(rows):
        found = medians(rows, name, "steps")
        whole = medians(rows, name, "whole")
        sizes = [found["raw_bytes"], found["objects_memory"], found["frame_bytes"], whole["peak_bytes"]]
        lines.append([name, *(size / 1e6 for size in sizes), whole["peak_bytes"] / found["frame_bytes"]])
    for row in rows:
        if row.get("paper"):
            sizes = [row[f"{part}_bytes"] for part in ("raw", "objects", "frame", "peak")]
            lines.append([f"{row['database']} (paper)", *(size / 1e6 for size in sizes), sizes[3] / sizes[2]])
    columns = ["", "bytes received MB", "Python objects MB", "dataframe MB", "peak MB", "peak / dataframe"]
    return Table("Memory (Table 1)", columns, lines)


def of_chunks(rows: list[Row]) -> Table:
    lines: list[list[Any]] = []
    for name in names(rows):
        for mode in [*map(str, CHUNKS), "whole"]:
            if found := medians(rows, name, mode):
                label = "all at once" if mode == "whole" else f"{int(mode):,}"
                peak = found["peak_bytes"]
                timed = spread(rows, "wall", database=name, mode=mode)
                lines.append([name, label, timed, peak / 1e6, peak / found["frame_bytes"]])
    return Table("Reading in chunks (Figure 3)", ["", "rows of a chunk", "s", "peak MB", "peak / dataframe"], lines)


def draw(rows: list[Row], axes: Axes) -> None:
    found = names(rows)
    left = [0.0] * len(found)
    for step, words in STEPS.items():
        shares = [medians(rows, name, "steps")[f"{step}_wall"] for name in found]
        axes.barh(found, shares, left=left, label=words)
        left = [a + b for a, b in zip(left, shares, strict=True)]
    axes.set_xlabel("seconds")
    axes.legend(fontsize=8)


def show(rows: list[Row]) -> list[Part]:
    bars = Plot("pandas.read_sql, step by step", partial(draw, rows), height=2.2, name="pandas_breakdown")
    return [of_time(rows), bars, of_memory(rows), of_chunks(rows)]


def findings(rows: list[Row]) -> list[Finding]:
    shares, peaks, chunked, slowest = {}, {}, {}, {}
    for name in names(rows):
        found, whole = medians(rows, name, "steps"), medians(rows, name, "whole")
        walls = [found[f"{step}_wall"] for step in STEPS]
        shares[name] = 1 - walls[0] / sum(walls)
        peaks[name] = whole["peak_bytes"] / whole["frame_bytes"]
        sizes = [one for size in CHUNKS if (one := medians(rows, name, str(size)))]
        if sizes:
            chunked[name] = min(one["peak_bytes"] for one in sizes) / whole["peak_bytes"]
            slowest[name] = min(one["wall"] for one in sizes) / whole["wall"]

    def words(figures: dict[str, float], form: str) -> str:
        return ", ".join(f"{name} {figure:{form}}" for name, figure in figures.items())

    return [
        Finding(
            "The client takes more than 85 % of the time of pandas.read_sql (PostgreSQL).",
            f"The client's share of the time: {words(shares, '.0%')}.",
            all(share > 0.5 for share in shares.values()) if shares else None,
        ),
        Finding(
            "The peak memory of pandas.read_sql is about 4 times the size of the dataframe.",
            f"Peak memory as a multiple of the dataframe: {words(peaks, '.1f')}.",
            all(peak >= 3 for peak in peaks.values()) if peaks else None,
        ),
        Finding(
            "Reading in chunks saves much memory, and no time.",
            f"Relative to reading all at once, the smallest peak is {words(chunked, '.0%')}, and the shortest time is "
            f"{words(slowest, '.0%')}.",
            all(chunked[name] < 0.7 and slowest[name] > 0.8 for name in chunked) if chunked else None,
        ),
    ]


EXPERIMENT = Experiment(
    title="Where the time and the memory go in pandas.read_sql",
    source="ConnectorX, Table 1, Figures 2 and 3",
    question=(
        "Which steps of pandas.read_sql take the time and the memory? It reads lineitem through SQLAlchemy and a "
        "driver, and each step is timed. psycopg2 receives the whole result before it makes Python objects. PyMySQL "
        "does both at once; the time that it waits for its socket counts as execution and transfer."
    ),
    run=run,
    show=show,
    findings=findings,
)
