"""Prints docs/how-to/drop-in.md's table of scripts: each under each library, over each source.

`make test-drop-in` runs it.
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path
from typing import Any

from tests.drop_in import tables
from tests.drop_in.running import SCRIPTS, Script, differences
from tests.testbed import mariadb
from tests.testbed import postgres as pg

#: The heading of a column, the library, and arguments of every call.
COLUMNS: list[tuple[str, str, dict[str, Any]]] = [
    ("pandas", "pandas", {}),
    ("ConnectorX", "connectorx", {}),
    ("Colonnade", "colonnade", {}),
    ('`"exact"`', "colonnade", {"dtype_backend": "exact"}),
]


def outcome(script: Script, library: str, uri: str, more: dict[str, Any], wanted: dict[str, Any]) -> str:
    if more and "return_type" in script.text:
        more = {}
    try:
        found = script.run(library, uri, **more)
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        text = re.sub(r"\s+", " ", str(error))
        return f"{type(error).__name__}: {text[:60]}".replace("|", "\\|")
    return "other numbers" if differences(found, wanted) else "same"


def main() -> None:
    totals = [0] * len(COLUMNS)
    print(f"| script | for | {' | '.join(heading for heading, _, _ in COLUMNS)} |")
    print("|---" * (len(COLUMNS) + 2) + "|")
    with (
        pg.cluster(pg.stock()) as cluster,
        mariadb.server() as server,
        tempfile.TemporaryDirectory(prefix="colonnade-drop-in-") as directory,
    ):
        places = {
            "postgresql": tables.in_postgres(cluster),
            "mariadb": tables.in_mariadb(server),
            "sqlite": tables.in_sqlite(Path(directory)),
        }
        for script in map(Script, SCRIPTS):
            uris = {source: uris for source, uris in places.items() if script.reads(source)}
            wanted = {source: script.run(script.library, each[script.library]) for source, each in uris.items()}
            cells = []
            for number, (_, library, more) in enumerate(COLUMNS):
                found = {
                    source: outcome(script, library, uris[source][library], more, wanted[source]) for source in uris
                }
                bad = [f"{text} ({source})" for source, text in found.items() if text != "same"]
                same = len(set(found.values())) == 1
                cells.append(found["postgresql"] if same or not bad else bad[0])
                totals[number] += not bad
            print(f"| `{script.name}` | {script.library} | {' | '.join(cells)} |", flush=True)
    print(f"| same numbers | | {' | '.join(f'{total} of {len(SCRIPTS)}' for total in totals)} |")


if __name__ == "__main__":
    main()
