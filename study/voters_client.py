"""A process that runs the pipeline of the thesis's chapter 5 once: load and join, label, train, test, sum by precinct.

    python voters_client.py '{"source": "parquet", "where": …, "columns": …}'

With `"until": "load"` it ends before the training. Its interpreter has scikit-learn and the libraries that are
compared. It prints a line when all is imported, waits for a
line, and prints the seconds of each step, its CPU seconds and its largest memory.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[1] / "bench"))

from process import own_memory
from voters_features import FEATURES, LABELLED, TRAIN

Asked = dict[str, Any]
#: What a source is read by. It is imported before the time begins.
LIBRARIES = {
    "csv": "pyarrow.csv",
    "parquet": "pyarrow.parquet",
    "hdf5": "h5py",
    "sqlite": "sqlite3",
    "psycopg": "psycopg",
    "adbc": "adbc_driver_postgresql.dbapi",
    "connectorx": "connectorx",
    "colonnade": "colonnade",
    # The client that only sends SQL makes an array of a result.
    "functions": "pyarrow",
}
SOURCE: str = json.loads(sys.argv[1])["source"]
if SOURCE in LIBRARIES:
    importlib.import_module(LIBRARIES[SOURCE])
if SOURCE == "functions":
    import colonnade
else:
    import numpy as np
    import pandas as pd
    from sklearn.ensemble import RandomForestClassifier


def frame_of(asked: Asked) -> pd.DataFrame:
    """The labelled voters."""
    source = asked["source"]
    if source in FILES:
        read = FILES[source]
        voters, precincts = read(asked, "voters", asked["columns"]), read(asked, "precincts", None)
        frame = voters.merge(precincts, on="precinct", how="left")
        total = frame["dem"].astype("int64") + frame["rep"]
        frame["vote"] = np.where(frame["draw"] * total < frame["dem"].astype("int64") * 1_000_000, "DEM", "REP")
        return frame
    names = ", ".join(f"v.{name}" for name in asked["columns"])
    return DATABASES[source](asked["where"], LABELLED.format(names))


def from_csv(asked: Asked, table: str, columns: list[str] | None) -> pd.DataFrame:
    from pyarrow import csv

    options = csv.ConvertOptions(include_columns=columns or [])
    return csv.read_csv(Path(asked["where"]) / f"{table}.csv", convert_options=options).to_pandas()


def from_parquet(asked: Asked, table: str, columns: list[str] | None) -> pd.DataFrame:
    return pd.read_parquet(Path(asked["where"]) / f"{table}.parquet", columns=columns)


def from_npy(asked: Asked, table: str, columns: list[str] | None) -> pd.DataFrame:
    files = sorted((Path(asked["where"]) / table).iterdir())
    arrays = {file.stem: np.load(file) for file in files if columns is None or file.stem in columns}
    return pd.DataFrame({name: text(array) for name, array in arrays.items()})


def from_hdf5(asked: Asked, table: str, columns: list[str] | None) -> pd.DataFrame:
    import h5py

    with h5py.File(Path(asked["where"]) / f"{table}.h5") as file:
        return pd.DataFrame({name: text(file[name][:]) for name in columns or file})


def text(array: np.ndarray) -> Any:
    """Bytes of a fixed width as they are: as categories they are as good as texts."""
    return array.astype(object) if array.dtype.kind == "S" else array


def by_sqlite(where: str, query: str) -> pd.DataFrame:
    import sqlite3

    with sqlite3.connect(where) as connection:
        return pd.read_sql(query, connection)


def by_psycopg(where: str, query: str) -> pd.DataFrame:
    import psycopg

    with psycopg.connect(where) as connection, connection.cursor() as cursor:
        cursor.execute(query.encode())
        return pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description or []])


def by_adbc(where: str, query: str) -> pd.DataFrame:
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(where) as connection, connection.cursor() as cursor:
        cursor.execute(query)
        return cursor.fetch_arrow_table().to_pandas()


def by_connectorx(where: str, query: str) -> pd.DataFrame:
    import connectorx

    return connectorx.read_sql(where, query)


def by_colonnade(where: str, query: str) -> pd.DataFrame:
    import colonnade

    return colonnade.read_sql(where, query)


FILES: dict[str, Callable[[Asked, str, list[str] | None], pd.DataFrame]] = {
    "csv": from_csv,
    "parquet": from_parquet,
    "npy": from_npy,
    "hdf5": from_hdf5,
}
DATABASES: dict[str, Callable[[str, str], pd.DataFrame]] = {
    "sqlite": by_sqlite,
    "psycopg": by_psycopg,
    "adbc": by_adbc,
    "connectorx": by_connectorx,
    "colonnade": by_colonnade,
}


def by_client(asked: Asked) -> dict[str, Any]:
    """The pipeline in this process."""
    begun = time.perf_counter()
    frame = frame_of(asked)
    columns = []
    for name in FEATURES:
        column = frame[name]
        is_number = pd.api.types.is_numeric_dtype(column)
        columns.append(column.to_numpy() if is_number else column.astype("category").cat.codes.to_numpy())
    matrix = np.column_stack(columns).astype(np.float32)
    label = frame["vote"].to_numpy()
    is_training = frame["voter"].to_numpy() % 2 == 0
    loaded = time.perf_counter()
    if asked.get("until") == "load":
        return {"load": loaded - begun}
    model = RandomForestClassifier(**TRAIN, random_state=0).fit(matrix[is_training], label[is_training])
    trained = time.perf_counter()
    predicted = model.predict(matrix[~is_training]) == "DEM"
    sums = np.bincount(frame["precinct"].to_numpy()[~is_training], weights=predicted)
    return {
        "load": loaded - begun,
        "train": trained - loaded,
        "test": time.perf_counter() - trained,
        "labels": int((label == "DEM").sum()),
        "predicted": int(sums.sum()),
    }


def in_database(asked: Asked) -> dict[str, Any]:
    """The pipeline as SQL. The joined and labelled rows are a temporary table. Training and testing include what a
    client does while it loads: the rows become the matrix that scikit-learn gets."""
    names = ", ".join(f"v.{name}" for name in ("voter", "precinct", *FEATURES))
    labelled, features = LABELLED.format(names), ", ".join(FEATURES)
    with colonnade.connect(asked["where"]) as connection:

        def value(query: str) -> int:
            return int(connection.query(query).to_arrow().column(0)[0].as_py())

        begun = time.perf_counter()
        connection.execute(f"CREATE TEMP TABLE labelled AS {labelled}")
        labels = value("SELECT count(*) FILTER (vote = 'DEM') FROM labelled")
        loaded = time.perf_counter()
        if asked.get("until") == "load":
            return {"load": loaded - begun}
        training = f"(SELECT {features}, vote FROM labelled WHERE voter % 2 = 0)"
        parameters = json.dumps(TRAIN)
        train = f"train_random_forest({training}, '{parameters}', 'voters', '{asked['format']}')"
        connection.execute(f"INSERT INTO models BY NAME SELECT * FROM {train}")
        trained = time.perf_counter()
        test = f"(SELECT precinct, {features} FROM labelled WHERE voter % 2 = 1)"
        counted = f"SELECT precinct, count(*) FILTER (label = 'DEM') AS dem FROM predict({test}, 'voters') GROUP BY 1"
        predicted = value(f"SELECT sum(dem)::BIGINT FROM ({counted})")
        ended = time.perf_counter()
    return {
        "load": loaded - begun,
        "train": trained - loaded,
        "test": ended - trained,
        "labels": labels,
        "predicted": predicted,
    }


def main() -> None:
    asked = json.loads(sys.argv[1])
    print("ready", flush=True)
    sys.stdin.readline()
    before = time.process_time()
    begun = time.perf_counter()
    found = in_database(asked) if asked["source"] == "functions" else by_client(asked)
    found["wall"] = time.perf_counter() - begun
    found["client_cpu"] = time.process_time() - before
    # Not ru_maxrss, which is at least that of the process that has started this one.
    found["peak"] = own_memory(os.getpid(), "VmHWM")
    print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
