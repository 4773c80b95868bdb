"""The tables of the thesis's chapter 5: voters and precincts. North Carolina's are not in this repository, so both are
generated as the chapter describes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

#: The thesis's numbers.
ROWS = 7_500_000
PRECINCTS = 2751
INTEGERS, TEXTS = 40, 56
#: `draw` is a uniform number below this one. Products with a precinct's votes stay below 2^31.
DRAWS = 1_000_000
MOST_VOTES = 2000


def precincts(seed: int = 51) -> pa.Table:
    """The votes of each precinct."""
    random = np.random.default_rng(seed)
    votes = random.integers(200, MOST_VOTES, PRECINCTS)
    dem = (votes * random.beta(3, 3, PRECINCTS)).astype(np.int32)
    return pa.table(
        {"precinct": np.arange(PRECINCTS, dtype=np.int32), "dem": dem, "rep": (votes - dem).astype(np.int32)}
    )


def voters(rows: int, places: pa.Table, seed: int = 52) -> pa.Table:
    """Voters. The party follows the precinct's votes, so that there is something to learn."""
    random = np.random.default_rng(seed)
    precinct = random.integers(0, PRECINCTS, rows).astype(np.int32)
    dem = places.column("dem").to_numpy()
    share = (dem / (dem + places.column("rep").to_numpy()))[precinct]
    party = np.where(random.random(rows) < 0.25, 2, (random.random(rows) > share).astype(int))
    columns: dict[str, pa.Array | np.ndarray] = {
        "voter": np.arange(rows, dtype=np.int32),
        "precinct": precinct,
        "draw": random.integers(0, DRAWS, rows).astype(np.int32),
        "age": random.integers(18, 95, rows).astype(np.int32),
        "registered": random.integers(1950, 2013, rows).astype(np.int32),
        "sex": codes(random.choice(3, rows, p=[0.53, 0.45, 0.02]), ["F", "M", "U"]),
        "race": codes(random.choice(5, rows, p=[0.7, 0.22, 0.02, 0.02, 0.04]), ["W", "B", "A", "I", "O"]),
        "party": codes(party, ["DEM", "REP", "UNA"]),
        "county": codes(precinct % 100, [f"county {at}" for at in range(100)]),
    }
    for at in range(INTEGERS - 5):
        columns[f"i{at}"] = random.integers(0, 10 ** (1 + at % 6), rows).astype(np.int32)
    for at in range(TEXTS - 4):
        kinds = 2 + at * 4
        columns[f"t{at}"] = codes(random.integers(0, kinds, rows), [f"{at}-{code}" for code in range(kinds)])
    return pa.table(columns)


def codes(numbers: np.ndarray, texts: list[str]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(numbers.astype(np.int32)), pa.array(texts)).cast(pa.string())


def labels(table: pa.Table, places: pa.Table) -> np.ndarray:
    """Which voters are labelled `DEM`."""
    precinct = table.column("precinct").to_numpy()
    dem = places.column("dem").to_numpy().astype(np.int64)[precinct]
    rep = places.column("rep").to_numpy().astype(np.int64)[precinct]
    return table.column("draw").to_numpy() * (dem + rep) < dem * DRAWS


def write(directory: Path, table: pa.Table, places: pa.Table) -> None:
    """The files of each format but HDF5, which `voters_hdf5.py` makes of these."""
    for name, one in (("voters", table), ("precincts", places)):
        pq.write_table(one, directory / f"{name}.parquet")
        pyarrow.csv.write_csv(one, directory / f"{name}.csv")
        (directory / name).mkdir()
        for column in one.column_names:
            values = one.column(column).to_numpy()
            # Texts of a fixed width, which is what numpy and HDF5 read fastest.
            np.save(directory / name / f"{column}.npy", values.astype("S") if values.dtype == object else values)
