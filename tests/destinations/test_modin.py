"""Modin's frames. Modin needs an older pandas than the other tests have: `make test-pandas2` has one."""

from __future__ import annotations

import colonnade
import pytest

from tests.testbed import postgres as pg

pytest.importorskip("modin", reason="no Modin works with this pandas")
pytestmark = pytest.mark.filterwarnings("default")


def test_a_modin_frame(stock: pg.Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    # The engine that needs nothing else.
    monkeypatch.setenv("MODIN_ENGINE", "python")
    import modin.pandas

    sql = "select i::int8 as i, i / 4.0::float8 as f, 'row ' || i as t from generate_series(1, 3000) i"
    frame = colonnade.read_sql(stock.uri(), sql, return_type="modin")
    assert isinstance(frame, modin.pandas.DataFrame)
    assert frame._to_pandas().equals(colonnade.read_sql(stock.uri(), sql))
    indexed = colonnade.read_sql(stock.uri(), sql, return_type="modin", index_col="i", dtype_backend="connectorx")
    assert indexed["f"].sum() == 3000 * 3001 / 8
    assert colonnade.read_sql(stock.uri(), "select 1 as a where false", return_type="modin").shape == (0, 1)
