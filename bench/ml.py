"""What training and predicting cost in the database, against the same calls of scikit-learn on arrays in memory.

    python bench/ml.py [--rows 300000] [--rounds 5] [--trees 10 100] [--threads 1] [--markdown FILE]

The table is that of `study/voters.py`. A random forest learns 22 of its columns: numbers only, or 14 numbers and 8
texts. In memory, the features are a matrix already, whose texts are numbers; in the database, they are rows of a table.
Two other rows of the table say what is possible: scikit-learn with columns of Arrow in memory, which become the matrix
first, and onnxruntime with the matrix. 100 trees are what scikit-learn makes unless it is told otherwise. With 10, its
default until 2019, the way to the trees is a larger share of the whole.
CPU seconds are those of this process, or of the server with the processes of its functions. Both ways take turns, and
the least of the rounds counts. scikit-learn predicts with one thread unless it is told otherwise, so the server has one
too: with more, processes predict at the same time, which takes less time and, because they share caches and memory,
more CPU. This interpreter needs the libraries of `tools/requirements/ml.txt`.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import colonnade
import numpy as np
import onnxruntime
import psycopg
import pyarrow as pa
from process import cpu_seconds
from skl2onnx import convert_sklearn
from skl2onnx.common.data_types import FloatTensorType
from sklearn.ensemble import RandomForestClassifier

sys.path.insert(0, str(Path(__file__).parents[1]))
from colonnade import ml

from study import voters_tables
from tests.testbed.serving import Server, function_options, serve

#: Modules that the functions of models use.
PRELOAD = "pyarrow.compute,sklearn.ensemble,sklearn.pipeline,onnxruntime,skl2onnx"
NUMBERS = ["age", "registered", *(f"i{at}" for at in range(20))]
MIXED = ["age", "registered", *(f"i{at}" for at in range(12)), "sex", "race", "party", "county"] + [
    f"t{at}" for at in range(4)
]
DEPTH = 10
#: How models are stored.
FORMS = ("pickle", "onnx")
#: Trees in all predictions of a round. One prediction by few trees is too short for the server's clock.
TREES = 50
#: Rounds for a forest that takes long to train.
FEW = 2
#: Turns of predictions after each training, which takes much longer.
TURNS = 3


@dataclass(frozen=True)
class Cost:
    """Seconds."""

    cpu: float
    wall: float


def cost(run: Callable[[], object], clock: Callable[[], float], count: int) -> Cost:
    cpu, begun = clock(), time.perf_counter()
    for _ in range(count):
        run()
    return Cost((clock() - cpu) / count, (time.perf_counter() - begun) / count)


def matrix(table: pa.Table, names: list[str]) -> np.ndarray:
    """The features as scikit-learn's trees take them."""
    found = np.empty((len(table), len(names)), np.float32)
    for at, name in enumerate(names):
        column = table.column(name).combine_chunks()
        found[:, at] = column.dictionary_encode().indices if pa.types.is_string(column.type) else column
    return found


def graph_of(model: RandomForestClassifier, width: int) -> Callable[[np.ndarray], object]:
    """The forest as onnxruntime runs it, by one thread as in the database."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    converted = convert_sklearn(
        model,
        initial_types=[("x", FloatTensorType([None, width]))],
        options={id(model): {"zipmap": False}},
        target_opset=18,
    )
    session = onnxruntime.InferenceSession(converted.SerializeToString(), options, providers=["CPUExecutionProvider"])
    # The first output has a text of Python for each row.
    _, chances = (one.name for one in session.get_outputs())
    return lambda rows: session.run([chances], {"x": rows})[0].argmax(axis=1)


def measured(server: Server, uri: str, table: pa.Table, label: np.ndarray, rounds: int, trees: int) -> list[list[str]]:
    parameters: dict[str, int] = {"n_estimators": trees, "max_depth": DEPTH}
    predictions = max(1, TREES // trees)

    def clock() -> float:
        return cpu_seconds(server.process.pid)

    lines = []
    with psycopg.connect(uri, autocommit=True) as connection:
        for what, names in (("22 numbers", NUMBERS), ("14 numbers, 8 texts", MIXED)):
            rows = matrix(table, names)
            chosen = ", ".join(names)
            model = RandomForestClassifier(**parameters, random_state=0)
            best: dict[str, Cost] = {}

            def note(name: str, found: Cost, best: dict[str, Cost] = best) -> None:
                known = best.get(name, found)
                best[name] = Cost(min(known.cpu, found.cpu), min(known.wall, found.wall))

            for _ in range(rounds):
                note("train", cost(lambda: model.fit(rows, label), time.process_time, 1))  # noqa: B023
                run = graph_of(model, len(names))
                for form in FORMS:
                    train = (
                        f"INSERT INTO models BY NAME SELECT * FROM train_random_forest((SELECT {chosen}, vote FROM v), "
                        f"'{json.dumps(parameters)}', '{form}', '{form}')"
                    )
                    note(f"train, {form}", cost(lambda: connection.execute(train.encode()), clock, 1))  # noqa: B023
                in_memory: dict[str, Callable[[], object]] = {
                    "predict": lambda: model.predict(rows),  # noqa: B023
                    "predict, columns of Arrow in memory": lambda: model.predict(matrix(table, names)),  # noqa: B023
                    "predict, onnxruntime in memory": lambda: run(rows),  # noqa: B023
                }
                for _ in range(TURNS):
                    for name, work in in_memory.items():
                        note(name, cost(work, time.process_time, predictions))
                    for form in FORMS:
                        counted = (
                            f"SELECT count(*) FILTER (label = 'DEM') FROM predict((SELECT {chosen} FROM v), '{form}')"
                        )
                        found = cost(lambda: connection.execute(counted.encode()).fetchall(), clock, predictions)  # noqa: B023
                        note(f"predict, {form}", found)
            for name, found in best.items():
                base = best[name.partition(",")[0]]
                lines.append(
                    [
                        f"{trees} trees, {what}",
                        name,
                        f"{found.cpu:.3f}",
                        f"{found.wall:.3f}",
                        "" if base is found else f"{found.cpu / base.cpu:.2f}x",
                    ]
                )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--trees", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--threads", type=int, default=1, help="the server's, for a statement")
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    places = voters_tables.precincts()
    table = voters_tables.voters(arguments.rows, places)
    label = np.where(voters_tables.labels(table, places), "DEM", "REP")
    threads = str(arguments.threads)
    options = [*function_options(), "--udf-preload", PRELOAD, "--udf-memory", "8000000000", "--threads", threads]
    with serve(*options) as server:
        uri = f"postgresql://tester@{server.host}:{server.port}/memory"
        ml.install(uri)
        colonnade.write_sql(table.append_column("vote", pa.array(label)), uri, "v")
        lines = [
            line
            for trees in arguments.trees
            for line in measured(server, uri, table, label, arguments.rounds if trees < TREES else FEW, trees)
        ]
    text = "\n".join(
        [
            f"{arguments.rows:,} rows, random forests of depth {DEPTH}, the server with --threads {threads}. The least "
            f"of {arguments.rounds} rounds, or of {FEW} for forests of {TREES} trees or more, and of {TURNS} turns of "
            "predictions in each:",
            "",
            "| features | | CPU s | wall s | CPU, against arrays in memory |",
            "|---|---|--:|--:|--:|",
            *(f"| {' | '.join(line)} |" for line in lines),
            "",
        ]
    )
    print(text)
    if arguments.markdown is not None:
        arguments.markdown.write_text(text)


if __name__ == "__main__":
    main()
