"""What needs no engine: errors without one, orders, types."""

from __future__ import annotations

import decimal
import random
import struct
import subprocess
import sys

import colonnade
import pyarrow as pa
import pytest
from colonnade import distributed
from colonnade.distributed._fit import fitted, plain_schema
from colonnade.distributed._order import in_order

#: An interpreter in which no engine can be imported.
_WITHOUT = """
import importlib.abc, sys
class Missing(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name in ("dask", "ray", "pyspark", "daft"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, Missing())
from colonnade import distributed
call = CALL
try:
    call()
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("call", "extra"),
    [
        ("lambda: distributed.dask_frame('postgresql://nowhere/', 'select 1')", "dask"),
        ("lambda: distributed.ray_dataset('postgresql://nowhere/', 'select 1')", "ray"),
        ("lambda: distributed.spark(None, 'postgresql://nowhere/', 'select 1')", "spark"),
        ("lambda: distributed.daft_frame('postgresql://nowhere/', 'select 1')", "daft"),
    ],
)
def test_an_engine_that_is_not_installed_is_named(call: str, extra: str) -> None:
    command = [sys.executable, "-c", _WITHOUT.replace("CALL", call)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"pip install 'colonnade[{extra}]'" in told


def test_no_engine_is_imported_before_use() -> None:
    check = (
        "import sys; from colonnade import distributed; print({'dask', 'ray', 'pyspark', 'daft'} & set(sys.modules))"
    )
    told = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True).stdout
    assert told == "set()\n"


def test_a_query_or_a_plan() -> None:
    with pytest.raises(colonnade.InterfaceError, match="needs a query, or a plan"):
        distributed.dask_frame("postgresql://nowhere/")


ROWS = pa.table(
    {
        "i": pa.array([1, None, 1, 1, 1, 1], pa.int32()),
        "f": pa.array([0.0, 1.0, -0.0, float("nan"), None, 0.0]),
        "n": pa.nulls(6),
        "l": pa.array([[1], None, [1], [2, None], [1], [0]]),
        "d": pa.array([None, *map(decimal.Decimal, ("1.5", "-1.5", "0", "2", "3"))], pa.decimal128(5, 1)),
        "s": pa.array([None, "ß", "a\0b", "", "z", "y"]),
        "t": pa.array([(1, 2, 3), None, (0, 0, 0), (0, 0, 1), (0, 0, 0), (1, 1, 1)], pa.month_day_nano_interval()),
    }
)


def test_rows_have_one_order() -> None:
    """Also rows that differ only in what does not compare: the sign of zero, NaN, lists, intervals."""
    chance = random.Random(1)
    expected = in_order(ROWS)
    assert sorted(map(repr, expected.to_pylist())) == sorted(map(repr, ROWS.to_pylist()))
    for _ in range(20):
        order = chance.sample(range(6), 6)
        halves = [ROWS.take(order[:3]), ROWS.take(order[3:])]
        found = in_order(pa.concat_tables(halves))
        assert repr(found.to_pylist()) == repr(expected.to_pylist())


def test_equal_zeros_and_nans_have_one_order() -> None:
    other_nan = struct.unpack("<d", struct.pack("<Q", 0x7FF8000000000001))[0]
    values = [0.0, -0.0, float("nan"), other_nan, None]
    found = set()
    for shift in range(5):
        column = in_order(pa.table({"f": values[shift:] + values[:shift]}))["f"].combine_chunks()
        found.add(tuple(column.view(pa.int64()).to_pylist()))
    assert len(found) == 1


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.float64()])
def test_every_float_has_an_order(kind: pa.DataType) -> None:
    table = pa.table({"f": pa.array([2.0, None, 1.0]).cast(kind), "i": [0, 1, 2]})
    assert sorted(in_order(table)["i"].to_pylist()) == [0, 1, 2]


def test_a_table_without_rows_or_columns_is_in_order() -> None:
    assert in_order(ROWS.slice(0, 0)).schema == ROWS.schema
    assert in_order(pa.table({})).num_columns == 0


def test_dictionaries_become_values() -> None:
    kind = pa.dictionary(pa.int8(), pa.string())
    nested = pa.struct([("a", pa.list_(kind)), ("m", pa.map_(pa.string(), kind))])
    schema = plain_schema(pa.schema([("e", kind), ("n", nested), ("f", pa.list_(kind, 2))]))
    assert schema.field("e").type == pa.string()
    assert schema.field("n").type == pa.struct([("a", pa.list_(pa.string())), ("m", pa.map_(pa.string(), pa.string()))])
    assert schema.field("f").type == pa.list_(pa.string(), 2)
    batches = [pa.record_batch({"e": pa.array(values).cast(kind)}) for values in (["a", None], ["b", "a"])]
    made = pa.Table.from_batches(fitted(batches, pa.schema([("e", pa.string())]), "X"))
    assert made["e"].to_pylist() == ["a", None, "b", "a"]


@pytest.mark.parametrize("at", [0, 1, 500, 999])
def test_a_value_that_does_not_fit_is_named(at: int) -> None:
    moments = [1000] * 1000
    moments[at] = 1001
    batches = [
        pa.record_batch({"t": pa.array([0] * 10, pa.timestamp("ns"))}),
        pa.record_batch({"t": pa.array(moments, pa.timestamp("ns"))}),
    ]
    with pytest.raises(colonnade.DataError, match=f"column .t., row {at + 11} of the part"):
        list(fitted(batches, pa.schema([("t", pa.timestamp("us"))]), "Spark"))
