"""A kernel of Jupyter: interruption and what it shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support import notebooks
from tests.support.notebooks import run


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    """A kernel and a client of it."""
    with notebooks.kernel() as opened:
        yield opened


def test_an_interrupt_ends_a_read(kernel: Any, uri: str) -> None:
    manager, client = kernel
    run(client, f"import colonnade; connection = colonnade.connect({uri!r})")
    request = client.execute(
        "print('begun', flush=True); connection.query('select i from range(1000000000000) t(i)').to_arrow()"
    )
    error = None
    for message in notebooks.messages(client, request):
        if message["msg_type"] == "stream":
            manager.interrupt_kernel()
        if message["msg_type"] == "error":
            error = message["content"]["ename"]
    assert error == "KeyboardInterrupt"
    *_, result = run(client, "connection.query('select 7 as n').to_arrow()['n'][0].as_py()")
    assert result["content"]["data"]["text/plain"] == "7"


def test_results_and_stats_are_tables(kernel: Any, uri: str) -> None:
    _, client = kernel
    *_, shown = run(
        client, f"import colonnade; connection = colonnade.connect({uri!r}); connection.query('select 1 as n')"
    )
    assert "<td>n</td><td>int32</td>" in shown["content"]["data"]["text/html"]
    *_, shown = run(client, "result = connection.query('select 1 as n'); result.to_arrow(); result.stats")
    assert "<td>rows</td><td>1</td>" in shown["content"]["data"]["text/html"]


def test_progress_in_a_notebook(kernel: Any, uri: str) -> None:
    pytest.importorskip("tqdm")
    _, client = kernel
    code = f"import colonnade; colonnade.read_sql({uri!r}, 'select 1 as n', return_type='arrow', progress=True);"
    messages = run(client, code)
    # A widget, or without ipywidgets a line.
    assert {message["msg_type"] for message in messages} & {"comm_open", "stream"}
    assert not [message for message in messages if message["msg_type"] == "error"]
