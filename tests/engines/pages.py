"""The examples in the how-to pages."""

from __future__ import annotations

import re
from pathlib import Path

from tests.testbed import postgres as pg

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SETUP = "create table if not exists orders as select i as id, i % 50 as customer_id from generate_series(1, 5000) i"


def run_examples(engine: str, cluster: pg.Cluster, **names: object) -> int:
    """Runs the blocks `py` of an engine's page; returns how many."""
    page = _BLOCK.findall((ROOT / f"docs/how-to/{engine}.md").read_text())
    with cluster.connect() as session:
        session.execute(_SETUP)
    known = {**names, "uri": cluster.uri(tcp=True)}
    for block in page:
        exec(compile(block, engine, "exec"), known)
    return len(page)
