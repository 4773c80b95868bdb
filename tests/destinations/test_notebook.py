"""A kernel of Jupyter: interruption and what it shows."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

import jupyter_client
import pytest

LIMIT = 60


@pytest.fixture(scope="module")
def kernel() -> Iterator[Any]:
    """A client of a kernel with this interpreter."""
    manager = jupyter_client.KernelManager()
    manager.kernel_spec.argv = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
    manager.start_kernel(env=dict(os.environ))
    client = manager.client()
    client.start_channels()
    try:
        client.wait_for_ready(timeout=LIMIT)
        yield manager, client
    finally:
        client.stop_channels()
        manager.shutdown_kernel(now=True)


def outputs(client: Any, request: str) -> Iterator[dict[str, Any]]:
    """The messages of a cell, until the kernel is idle."""
    while True:
        message = client.get_iopub_msg(timeout=LIMIT)
        if message["parent_header"].get("msg_id") != request:
            continue
        if message["msg_type"] == "status" and message["content"]["execution_state"] == "idle":
            return
        yield message


def run(client: Any, code: str) -> list[dict[str, Any]]:
    """The messages of a cell."""
    return list(outputs(client, client.execute(code)))


def test_an_interrupt_ends_a_read(kernel: Any, uri: str) -> None:
    manager, client = kernel
    run(client, f"import colonnade; connection = colonnade.connect({uri!r})")
    request = client.execute(
        "print('begun', flush=True); connection.query('select i from range(1000000000000) t(i)').to_arrow()"
    )
    error = None
    for message in outputs(client, request):
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
