"""Chapter 5 of the thesis: voters are classified, in the database and by clients that load the data first."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import colonnade
import colonnade_serve
import psycopg
import pyarrow as pa
import turns
from process import PeakMemory, cpu_seconds

sys.path.insert(0, str(Path(__file__).parents[1]))

from colonnade import ml

from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, Text, Unmeasurable
from study.medians import cell, median, names, ratio, span, spread
from study.voters_features import FEATURES, NEEDED
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, function_options, serve

ROOT = Path(__file__).parents[1]
#: Where data is, the CPU seconds of its server, and the server's process.
Started = tuple[str, Callable[[], float], int | None]
#: The interpreter with scikit-learn and the other libraries: tools/requirements/ml.txt.
INTERPRETER = "COLONNADE_STUDY_ML"
#: The voters of the quick size.
QUICK_ROWS = 300_000
#: Imported before workers are forked, so that no worker spends time on it.
PRELOAD = "pyarrow.compute,sklearn.ensemble,onnxruntime,skl2onnx"
#: Where the data comes from: the name, and what voters_client.py reads it by.
CLIENTS = {
    "CSV, pyarrow": "csv",
    "Parquet, pyarrow": "parquet",
    "npy, a file for each column": "npy",
    "HDF5, h5py": "hdf5",
    "SQLite, pandas + sqlite3": "sqlite",
    "PostgreSQL, psycopg": "psycopg",
    "PostgreSQL, ADBC": "adbc",
    "PostgreSQL, ConnectorX": "connectorx",
    "PostgreSQL, Colonnade": "colonnade",
    "colonnade serve, Colonnade": "colonnade",
}
DATABASE, AS_ONNX = "colonnade serve, in the database", "colonnade serve, in the database, as ONNX"
SOCKETS = [name for name in CLIENTS if name.startswith("PostgreSQL")]
SERVED = "colonnade serve, Colonnade"


def interpreter() -> str:
    found = os.environ.get(INTERPRETER) or str(ROOT / ".venv-ml/bin/python")
    if not Path(found).exists():
        raise Unmeasurable(f"there is no interpreter with scikit-learn at {found}: make test-ml makes it")
    return found


def run(context: Context) -> list[Row]:
    python = interpreter()
    from study import voters_tables

    count = context.size.rows if context.size.name == "tiny" else QUICK_ROWS
    count = voters_tables.ROWS if context.size.name == "full" else count
    places = voters_tables.precincts()
    table = voters_tables.voters(count, places)
    files = context.scratch / "voters"
    files.mkdir()
    context.say(f"writing {count:,} voters …")
    voters_tables.write(files, table, places)
    subprocess.run([python, str(Path(__file__).parent / "voters_hdf5.py"), str(files)], check=True, timeout=600)
    expected = int(voters_tables.labels(table, places).sum())
    (context.scratch / "packages").mkdir()
    for package in (colonnade, colonnade_serve):
        (context.scratch / "packages" / package.__name__).symlink_to(package.__path__[0])
    rows: list[Row] = []
    with ExitStack() as stack:
        there = dict(started(stack, context, files, python))
        for number in range(context.size.rounds):
            for columns in ("all", "needed"):
                for name, asked, server, counted in systems(there, table, columns, files):
                    found = reading(context, python, asked, server)
                    row = {
                        "system": name,
                        "columns": columns,
                        "round": number,
                        "voters": count,
                        **judged(found, expected),
                    }
                    if "error" not in row:
                        # The server's CPU seconds are known only when a client has ended.
                        loading = reading(context, python, {**asked, "until": "load"}, server)
                        if "error" not in loading:
                            row["load_cpu"] = loading["client_cpu"] + loading["server_cpu"]
                    if "error" not in row and counted is not None:
                        # Another run, because looking at the memory takes time. All the server's processes count.
                        with PeakMemory(counted) as peak:
                            again = reading(context, python, asked, server)
                        row["peak"] = again["peak"] + peak.bytes
                    rows.append(row)
                    context.say(f"{columns:>7} {name:<45} {row.get('error') or round(row['wall'], 2)}")
    shutil.rmtree(files)
    return rows


def systems(
    there: dict[str, Started], table: pa.Table, columns: str, files: Path
) -> Iterator[tuple[str, dict[str, Any], Callable[[], float], int | None]]:
    """Each system: its name, what the client is asked, the CPU seconds of its server, and the server's process if its
    memory counts."""
    chosen = table.column_names if columns == "all" else NEEDED
    for name, source in CLIENTS.items():
        where, cpu, _ = there.get(name.partition(",")[0], (str(files), lambda: 0.0, None))
        yield name, {"source": source, "where": where, "columns": chosen}, cpu, None
    if columns == "needed":
        # SQL names the columns that it needs.
        for name, form in ((DATABASE, "pickle"), (AS_ONNX, "onnx")):
            where, cpu, counted = there["functions"]
            yield name, {"source": "functions", "where": where, "format": form}, cpu, counted


@contextmanager
def postgres(files: Path) -> Iterator[tuple[str, Callable[[], float]]]:
    with pg.cluster(pg.stock(), {"shared_buffers": "1GB", "listen_addresses": "127.0.0.1"}) as cluster:
        uri = cluster.uri(tcp=True)
        load(files, uri)
        with psycopg.connect(uri, autocommit=True) as session:
            session.execute("VACUUM ANALYZE")
        yield uri, lambda: cpu_seconds(cluster.process.pid)


def load(files: Path, uri: str) -> None:
    for name in ("voters", "precincts"):
        colonnade.write_sql(str(files / f"{name}.parquet"), uri, name)


def started(stack: ExitStack, context: Context, files: Path, python: str) -> Iterator[tuple[str, Started]]:
    context.say("starting databases …")
    uri, cpu = stack.enter_context(postgres(files))
    yield "PostgreSQL", (uri, cpu, None)
    path = context.scratch / "voters.sqlite"
    sqlite3.connect(path).close()
    load(files, f"sqlite:///{path}")
    yield "SQLite", (str(path), lambda: 0.0, None)
    functions = [*function_options(), "--udf-python", python, "--udf-preload", PRELOAD, "--udf-memory", "8000000000"]
    for name, options in (("colonnade serve", []), ("functions", functions)):
        (context.scratch / name).mkdir()
        database = context.scratch / name / "voters.duckdb"
        # Another server than the one that is measured has loaded the table: its memory is not part of the pipeline.
        with serve(database, "--create", *options) as loading:
            load(files, address(loading))
            if options:
                ml.install(address(loading))
        server = stack.enter_context(serve(database, *options))
        yield name, (address(server), partial(cpu_seconds, server.process.pid), server.process.pid)


def address(server: Server) -> str:
    return f"postgresql://tester@{server.host}:{server.port}/voters"


def reading(context: Context, python: str, asked: dict[str, Any], server: Callable[[], float]) -> Row:
    """A new process runs the pipeline."""
    packages = str(context.scratch / "packages")
    command = [
        "env",
        f"PYTHONPATH={packages}",
        python,
        str(Path(__file__).parent / "voters_client.py"),
        json.dumps(asked),
    ]
    return turns.reading(command, server)


def judged(found: Row, expected: int) -> Row:
    """The reading, if the labels are right. Predictions differ with the order of the rows, which is not defined."""
    if "error" not in found and found["labels"] != expected:
        return {"error": f"{found['labels']} labels are DEM, not {expected}"}
    return found


def show(rows: list[Row]) -> list[Part]:
    parts: list[Part] = []
    for columns, caption in (("all", "All 96 columns are loaded (Figure 5-1)"), ("needed", "Only needed columns")):
        wanted = [row for row in rows if row["columns"] == columns or row["system"] in (DATABASE, AS_ONNX)]
        lines: list[list[Any]] = []
        for name in names(wanted):
            fields = [cell(wanted, field, system=name) for field in ("load", "train", "test", "wall")]
            both = [spread(wanted, field, system=name) for field in ("load_cpu", "client_cpu", "server_cpu")]
            lines.append([name, *fields, *both, spread(wanted, "peak", 1e-6, system=name)])
        head = ["", "load, join, label: s", "train: s", "test: s", "all: s", "load: CPU s"]
        head += ["all: client CPU s", "all: server CPU s", "peak MB"]
        parts.append(Table(f"{caption}: {counted(rows)} voters", head, lines))
    return [*parts, Plot("Seconds of the whole pipeline, and of loading", lambda axes: draw(axes, rows)), Text(NOTES)]


def counted(rows: list[Row]) -> str:
    return f"{max((row['voters'] for row in rows), default=0):,}"


def draw(axes: Any, rows: list[Row]) -> None:
    wanted = [row for row in rows if (row["columns"] == "all") != (row["system"] in (DATABASE, AS_ONNX))]
    known = [name for name in names(wanted) if median(wanted, "wall", system=name) is not None][::-1]
    axes.barh(known, [median(wanted, "wall", system=name) for name in known], label="train and test")
    axes.barh(known, [median(wanted, "load", system=name) for name in known], color="0.6", label="load, join, label")
    axes.legend()
    axes.set_xlabel("seconds")


NOTES = (
    f"The data is generated as the thesis describes North Carolina's: 2751 precincts, and voters with 96 columns, of "
    f"which the classifier gets {len(FEATURES)}. A voter's label is drawn with the share of votes in the precinct. The "
    "draws are stored, so that all pipelines have the same labels, which are compared. A random forest of 10 trees of "
    "depth 10 learns from half of the voters, predicts the other half, and the predictions are summed by precinct. "
    "Databases join and label by SQL, and pandas does it for files. In the database, the labelled rows become a "
    "temporary table; a client's loading contains the matrix for scikit-learn too, which in the database is a part of "
    "training and testing. The CPU seconds of loading are those of client and server, in a run that ends there. The "
    "peak memory is that of the client's process. In the database, that of all the server's processes is added, with "
    "DuckDB's cache of the table; memory that processes share counts once. The memory of the "
    "other servers does not count. MySQL and MonetDB are not run. Client processes have imported their libraries "
    "before the time begins, and so have the processes for functions (--udf-preload)."
)


def findings(rows: list[Row]) -> list[Finding]:
    def seconds(name: str, field: str = "load", columns: str = "all") -> float | None:
        return median(rows, field, system=name, columns="needed" if name == DATABASE else columns)

    inside, sockets = seconds(DATABASE), [found for name in SOCKETS if (found := seconds(name)) is not None]
    files = [found for name in ("Parquet, pyarrow", "npy, a file for each column") if (found := seconds(name))]
    csv, all_inside = seconds("CSV, pyarrow"), seconds(DATABASE, "wall")
    walls = [found for name in CLIENTS if (found := seconds(name, "wall")) is not None]
    least = ratio(min(sockets, default=None), inside)
    load_cpu, peak = seconds(DATABASE, "load_cpu"), seconds(DATABASE, "peak")
    over_sockets = [found for name in (*SOCKETS, SERVED) if (found := seconds(name, "load_cpu")) is not None]
    less_cpu = ratio(min(over_sockets, default=None), load_cpu)

    def of_memory(columns: str, what: str) -> Finding:
        loading = [found for name in CLIENTS if (found := seconds(name, "peak", columns)) is not None]
        return Finding(
            f"In the database, the peak memory is below that of every pipeline that loads {what} first.",
            f"It is {peak / 1e6:,.0f} MB, and the others take {span(one / 1e6 for one in loading)} MB."
            if peak is not None and loading
            else "Not measured.",
            peak < min(loading) if peak is not None and loading else None,
        )

    return [
        Finding(
            "In the database, the first wrangling of the data takes an order of magnitude less time than its transfer "
            "over a socket.",
            f"It takes {inside:.2f} s, and over PostgreSQL's sockets {span(sockets)} s." if least else "Not measured.",
            least >= 5 if least else None,
        ),
        Finding(
            "Loading from CSV files takes about as long as a transfer over a socket.",
            f"CSV takes {csv:.1f} s, sockets {span(sockets)} s." if csv and sockets else "Not measured.",
            min(sockets) / 2 <= csv <= max(sockets) * 2 if csv and sockets else None,
        ),
        Finding(
            "Binary files load much faster than CSV files and sockets.",
            f"Parquet and npy take {span(files)} s, CSV and sockets {span([*sockets, csv])} s."
            if files and sockets
            else "Not measured.",
            max(files) * 2 <= min([*sockets, *([csv] if csv else [])]) if files and sockets else None,
        ),
        Finding(
            "The whole pipeline is significantly faster in the database.",
            f"It takes {all_inside:.1f} s, and the others take {span(walls)} s." if all_inside else "Not measured.",
            all_inside * 1.1 <= min(walls) if all_inside and walls else None,
        ),
        Finding(
            "In the database, loading and wrangling takes at most a fifth of the CPU time of the best client over a "
            "socket.",
            f"It takes {load_cpu:.2f} s, and clients with their servers take {span(over_sockets)} s: "
            f"{less_cpu:.1f} times and more."
            if less_cpu
            else "Not measured.",
            less_cpu >= 5 if less_cpu else None,
        ),
        of_memory("all", "all columns"),
        of_memory("needed", "the needed columns"),
    ]


EXPERIMENT = Experiment(
    title="A pipeline of machine learning: in the database, and by clients that load the data first",
    source="thesis, chapter 5, Figure 5-1",
    question=(
        "How long does it take to load voters, to join them with the votes of their precincts, to train a classifier "
        "with half of them and to predict the other half, if the data is in files, in databases behind a socket, and "
        "if all of it happens in the database?"
    ),
    run=run,
    show=show,
    findings=findings,
)
