"""Records the conversations of a release, for `releases/VERSION/`.

    PYTHONPATH=spec python -m tests.compatibility.record [--python INTERPRETER]

INTERPRETER has the release and pyarrow, duckdb; by default it is this one. The extension is that of `pg/`, so the
checkout is the release's. A recording is made once, and then never changed.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
from pathlib import Path

from tests.compatibility.recording import Recording, recorder
from tests.compatibility.stored import RELEASES, save
from tests.testbed import postgres as pg
from tests.testbed.serving import listening

ROOT = Path(__file__).parents[2]
PROGRAM = Path(__file__).with_name("conversation.py")


def main() -> int:
    """Writes the files. Returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.compatibility.record", description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    python = parser.parse_args().python
    # Isolated, because the working folder is this checkout's.
    version = run(python, "-c", "import colonnade; print(colonnade.__version__)").strip()
    folder = RELEASES / version
    if folder.exists():
        print(f"{folder} exists: a recording is not changed", file=sys.stderr)
        return 1
    commit = subprocess.check_output(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, text=True).strip()
    about = {"colonnade": version, "commit": commit}
    command = [python, "-I", "-m", "colonnade", "serve", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        server = listening(process, 1)
        assert server.host is not None and server.port is not None
        served = record(python, (server.host, server.port), "test", about)
        process.terminate()
    with pg.installed() as installation, pg.extended(installation) as cluster:
        about["postgresql"] = str(pg.version())
        extended = record(python, ("127.0.0.1", cluster.port), "postgres", about)
    vectors = sorted((ROOT / "spec/vectors").glob("*/*.*"))
    sums = (f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.parent.name}/{file.name}\n" for file in vectors)
    save(folder, {"postgres.json": extended.text, "serve.json": served.text, "vectors.sha256": "".join(sums)})
    return 0


def record(python: str, target: tuple[str, int], database: str, about: dict[str, str]) -> Recording:
    """A conversation with a server."""
    with recorder(target) as (port, connections):
        uri = f"postgresql://tester@127.0.0.1:{port}/{database}"
        seen = json.loads(run(python, str(PROGRAM), uri))
    return Recording(dict(about), seen, connections)


def run(python: str, *arguments: str) -> str:
    return subprocess.run([python, "-I", *arguments], check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
