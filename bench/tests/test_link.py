"""The extension towards another machine: what `auto` makes of a link that is slow. A link needs network namespaces, and
these root."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import laboratory
import pytest
from postgres_tables import let_in

from tests.testbed import postgres as pg

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="network namespaces need root")

ROWS = 400_000
#: Numbers that light encodings make small, and text that a codec makes much smaller yet.
QUERY = (
    "SELECT i, i % 7 AS k, 'the same words in each of the rows, and the number ' || i::bigint * 7919 % 1000003 AS t "
    f"FROM generate_series(1, {ROWS}) AS i"
)
LIMIT = 240.0


@pytest.fixture(scope="module")
def shaper() -> Path:
    subprocess.run(["cargo", "build", "--quiet", "--locked", "-p", "colonnade-shaper"], cwd=pg.ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", pg.ROOT / "target")) / "debug/colonnade-shaper"


@pytest.fixture(scope="module")
def read(shaper: Path) -> Iterator[Any]:
    """Reads QUERY over a link of 20 Mbit/s."""
    link = laboratory.Link("slow", 20, delay=1, queue=200_000)
    with (
        laboratory.shaped(link, shaper),
        pg.installed() as installation,
        laboratory.within(laboratory.SERVER_SIDE),
        pg.cluster(installation) as cluster,
    ):
        let_in(cluster)
        with cluster.connect() as session:
            session.execute("CREATE EXTENSION colonnade")
        uri = f"postgresql://{pg.SUPERUSER}@{laboratory.SERVER}:{cluster.port}/postgres"
        with laboratory.client(link) as client:
            yield lambda compression: client.read(uri, QUERY, compression, LIMIT)


def test_a_slow_link_gets_more_work_and_fewer_bytes(read: Any) -> None:
    light, auto = read("light"), read("auto")
    assert light["rows"] == auto["rows"] == ROWS
    assert set(light["configurations"]) == {"light"}
    # Begun with light chunks, and left them soon.
    assert any("zstd" in name for name in auto["configurations"]), auto["configurations"]
    assert auto["wire_bytes"] < 0.7 * light["wire_bytes"]
