"""`progress`: what is reported of a write, and that its exceptions undo the write."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import colonnade
import pyarrow as pa
import pytest

from tests.writes.places import Place

BATCH = pa.record_batch({"a": pa.array(range(20_000), pa.int64()), "b": ["some text"] * 20_000})


@pytest.fixture(autouse=True)
def _every_batch_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reports do not wait for time to pass."""
    monkeypatch.setattr("colonnade._frames.progress._INTERVAL", 0)


def batches(count: int = 30) -> Iterator[pa.RecordBatch]:
    for _ in range(count):
        yield BATCH


def test_rows_and_bytes_grow_to_the_whole(place: Place) -> None:
    reports: list[colonnade.Progress] = []
    stats = colonnade.write_sql(batches(), place.uri, "t", progress=reports.append)
    first, last = reports[0], reports[-1]
    assert (first.rows, first.wire_bytes, first.is_last) == (0, 0, False)
    assert (last.rows, last.is_complete, last.is_last) == (600_000, True, True) and stats.rows == last.rows
    # 8 bytes of a number, 9 of a text, 4 or 8 of its offset.
    assert 21 * last.rows <= last.wire_bytes <= 26 * last.rows
    assert len(reports) >= 3
    for before, after in pairwise(reports):
        assert before.rows <= after.rows and before.wire_bytes <= after.wire_bytes
    assert not any(report.is_last for report in reports[:-1]) and first.estimated_rows is None


def test_a_table_knows_its_rows_and_is_cut_into_parts(in_postgres: Place) -> None:
    reports: list[colonnade.Progress] = []
    table = pa.Table.from_batches([*batches(20)]).combine_chunks()
    colonnade.write_sql(table, in_postgres.uri, "t", progress=reports.append)
    assert {report.estimated_rows for report in reports} == {400_000}
    assert len({report.rows for report in reports}) > 2


class Stop(Exception):
    pass


@pytest.mark.parametrize("error", [Stop("mine"), KeyboardInterrupt(), SystemExit(3)])
@pytest.mark.parametrize("at", [0, 1])
def test_an_exception_of_the_function_undoes_the_write(place: Place, error: BaseException, at: int) -> None:
    def show(progress: colonnade.Progress) -> None:
        if progress.rows >= at and not progress.is_last:
            raise error

    with colonnade.connect(place.uri) as connection:
        with pytest.raises(type(error)) as caught:
            connection.write(batches(), "t", progress=show)
        assert caught.value is error and not place.exists()
        connection.write(BATCH, "t")
    assert place.table().num_rows == 20_000


def test_a_failed_write_has_a_last_report_that_says_so(place: Place) -> None:
    reports: list[colonnade.Progress] = []
    place.execute("create table t (a bigint primary key, b text)")
    with pytest.raises(colonnade.IntegrityError):
        colonnade.write_sql(batches(2), place.uri, "t", if_exists="append", progress=reports.append)
    assert reports[-1].is_last and not reports[-1].is_complete


def test_true_shows_nothing_without_a_terminal(place: Place, capfd: pytest.CaptureFixture[str]) -> None:
    colonnade.write_sql(BATCH, place.uri, "t", progress=True)
    assert capfd.readouterr() == ("", "")


def test_on_a_terminal_there_is_a_bar(
    in_sqlite: Place, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    colonnade.write_sql(BATCH, in_sqlite.uri, "t", progress=True)
    shown: Any = capsys.readouterr().err
    assert "20.0k/20.0k" in shown and "of data" in shown
