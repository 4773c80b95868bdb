"""The option `progress`: what it reports, and the bar."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
import threading
from typing import Any

import colonnade
import pytest
from colonnade import Progress

from tests.testbed import postgres as pg

#: More chunks than one, from any source.
MANY = "select i, 'row ' || i as t from range(3000000) t(i)"


@pytest.mark.parametrize("return_type", ["arrow", "pandas", "polars", "numpy", "duckdb", "arrow_stream"])
def test_every_destination_reports(uri: str, return_type: str) -> None:
    seen: list[Progress] = []
    found: Any = colonnade.read_sql(uri, MANY, return_type=return_type, progress=seen.append)  # type: ignore[call-overload]
    if return_type == "arrow_stream":
        found.read_all()
    *under_way, last = seen
    assert (last.rows, last.is_complete, last.is_last, last.fraction) == (3_000_000, True, True, 1.0)
    assert last.wire_bytes > 1_000_000
    assert under_way and not any(progress.is_last or progress.is_complete for progress in under_way)
    rows = [progress.rows for progress in seen]
    assert rows == sorted(rows)


@pytest.mark.parametrize("partition_num", [1, 3])
def test_the_planner_estimates_the_rows(either: pg.Cluster, partition_num: int) -> None:
    seen: list[Progress] = []
    with either.connect() as session:
        session.execute("create table estimated as select i from generate_series(1, 200000) i")
        session.execute("analyze estimated")
    try:
        found = colonnade.read_sql(
            either.uri(),
            "select * from estimated",
            return_type="arrow",
            progress=seen.append,
            partition_num=partition_num,
        )
    finally:
        with either.connect() as session:
            session.execute("drop table estimated")
    assert found.num_rows == 200_000
    assert {progress.estimated_rows for progress in seen} == {200_000}


def test_an_estimate_with_parameters(either: pg.Cluster) -> None:
    seen: list[Progress] = []
    with colonnade.connect(either.uri()) as connection:
        sql = "select * from generate_series(1, 70) i where i < $1 limit 70"
        assert connection.query(sql, [10], progress=seen.append).to_arrow().num_rows == 9
    assert seen[-1].estimated_rows is not None


def test_no_estimate_is_made_in_a_transaction_or_of_other_statements(either: pg.Cluster) -> None:
    seen: list[Progress] = []
    with colonnade.connect(either.uri()) as connection:
        connection.execute("begin")
        assert connection.query("select 1 as i", progress=seen.append).to_arrow().num_rows == 1
        assert seen[-1].estimated_rows is None
        connection.execute("commit")
        with pytest.raises(colonnade.ProgrammingError, match="no_such_table"):
            connection.query("select * from no_such_table", progress=seen.append)
        assert connection.query("select 1 as i", progress=seen.append).to_arrow().num_rows == 1
        assert seen[-1].estimated_rows == 1


def test_an_estimate_that_is_too_low() -> None:
    assert Progress(11, 0, 1.0, 10).fraction is None
    assert Progress(11, 0, 1.0, 10).seconds_left is None
    assert Progress(11, 0, 1.0, 10, is_complete=True).fraction == 1.0
    assert (Progress(5, 0, 2.0, 20).fraction, Progress(5, 0, 2.0, 20).seconds_left) == (0.25, 6.0)


def test_an_exception_ends_the_read(connection: colonnade.Connection) -> None:
    def stop(progress: Progress) -> None:
        if not progress.is_last:
            raise LookupError("enough")

    endless = "select i, 'row ' || i as t from range(1000000000000) r(i)"
    for read in (lambda result: result.to_arrow(), list, lambda result: result.to_pandas()):
        with pytest.raises(LookupError, match="enough"):
            read(connection.query(endless, progress=stop))
        assert connection.query("select 1 as i").to_arrow().num_rows == 1


def test_a_read_that_ends_early_is_not_complete(remote: colonnade.Connection) -> None:
    seen: list[Progress] = []
    for _ in remote.query(MANY, progress=seen.append):
        break
    assert (seen[-1].is_complete, seen[-1].is_last) == (False, True)


@pytest.mark.parametrize("progress", [None, False])
def test_off_is_nothing(remote: colonnade.Connection, progress: bool | None) -> None:
    assert remote.query("select 1 as i", progress=progress)._reporter is None


def test_true_is_nothing_without_a_terminal() -> None:
    code = "import colonnade; colonnade.read_sql('duckdb:', 'select 1 as i', return_type='arrow', progress=True)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert (done.stdout, done.stderr) == ("", "")


def test_what_is_neither_is_refused(remote: colonnade.Connection) -> None:
    with pytest.raises(TypeError, match="give True, False or a function"):
        remote.query("select 1", progress="yes")  # type: ignore[arg-type]


def test_a_bar_on_a_terminal(stock: pg.Cluster) -> None:
    pytest.importorskip("tqdm")
    sql = "select i, 'row ' || i as t from generate_series(1, 3000000) i"
    code = f"import colonnade; colonnade.read_sql({stock.uri()!r}, {sql!r}, return_type='arrow', progress=True)"
    shown = on_a_terminal(code)
    assert "3.00M/3.00M" in shown
    assert "on the wire" in shown
    # The planner takes a function's rows to be a million or a thousand.
    assert "~" in shown


def test_a_terminal_without_the_library() -> None:
    code = "import sys; sys.modules['tqdm'] = None\n"
    code += "import colonnade; colonnade.read_sql('duckdb:', 'select 1', progress=True)"
    assert "pip install 'colonnade[progress]'" in on_a_terminal(code)


def on_a_terminal(code: str) -> str:
    """What a program writes to its terminal."""
    controller, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 120))
    shown: list[bytes] = []

    def read() -> None:
        while True:
            try:
                shown.append(os.read(controller, 4096))
            except OSError:
                return

    with subprocess.Popen([sys.executable, "-c", code], stderr=terminal, stdout=subprocess.DEVNULL) as process:
        os.close(terminal)
        reader = threading.Thread(target=read)
        reader.start()
        process.wait(120)
    reader.join()
    os.close(controller)
    return b"".join(shown).decode()


# --- notebooks --------------------------------------------------------------------------------------------------------


def test_what_notebooks_show_is_escaped(remote: colonnade.Connection) -> None:
    result = remote.query('select 1 as "<b>&", 2 as "b"')
    shown = result._repr_html_()
    assert "<td>&lt;b&gt;&amp;</td><td>int32</td>" in shown
    assert "2 columns, 0 rows so far, unread" in shown
    result.to_arrow()
    stats = result.stats._repr_html_()
    assert "<td>rows</td><td>1</td>" in stats
    assert "encodings of &lt;b&gt;&amp;" in stats
    assert "<b>" not in shown + stats
