"""The examples in README and the how-to pages."""

from __future__ import annotations

import re
from pathlib import Path

from tests.testbed import postgres as pg

ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_SETUP = "create table if not exists orders as select i as id, i % 50 as customer_id from generate_series(1, 5000) i"


def run_examples(engine: str, function: str, cluster: pg.Cluster, **names: object) -> int:
    """Runs the blocks `py` of an engine's page, and those of README that call its function; returns how many."""
    page = _BLOCK.findall((ROOT / f"docs/how-to/{engine}.md").read_text())
    readme = [block for block in _BLOCK.findall((ROOT / "README.md").read_text()) if function in block]
    with cluster.connect() as session:
        session.execute(_SETUP)
    known = {**names, "uri": cluster.uri(tcp=True)}
    for block in [*page, *readme]:
        exec(compile(block, engine, "exec"), known)
    return len(page) + len(readme)
