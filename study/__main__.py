"""Runs the experiments one after the other, stores the measurements of each as JSON, and writes the report.

    python -m study [--size tiny|quick|full] [--only NAME …] [--into DIRECTORY] [--peers PYTHON] [--report-only]

If an experiment fails, its error is stored in its file, and the other experiments run; the exit status shows the
failure. If this machine cannot run an experiment (no root, a missing program), the report says so with the reason.
"""

from __future__ import annotations

import argparse
import importlib
import json
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

import machine
from colonnade._cli.memory_state import memory_report

from study import report
from study.experiment import SIZES, Context, Experiment, Unmeasurable

ROOT = machine.ROOT
#: The modules, in the report's order.
EXPERIMENTS: list[str] = [
    "transfer",
    "networks",
    "links",
    "wire_bytes",
    "chunk_sizes",
    "row_or_column",
    "codec_links",
    "integers",
    "frameworks",
    "strings",
    "pandas_breakdown",
    "partitions",
    "bandwidth",
    "arrow",
    "queries",
    "embedded",
    "functions",
    "voters",
]


def experiment(name: str) -> Experiment:
    return importlib.import_module(f"study.{name}").EXPERIMENT


def measure(name: str, context: Context) -> dict[str, object]:
    """The contents of the experiment's file."""
    begun, memory = time.perf_counter(), memory_report()
    try:
        found: dict[str, object] = {"rows": experiment(name).run(context)}
    except Unmeasurable as reason:
        found = {"rows": [], "unmeasurable": str(reason)}
    except Exception as error:
        traceback.print_exc()
        found = {"rows": [], "error": f"{type(error).__name__}: {error}"}
    facts = {"size": context.size.name, "seconds": round(time.perf_counter() - begun, 1)}
    about = {**machine.described("docs/study"), "Memory": memory.partition(": ")[2].removesuffix(".")}
    return {"experiment": name, **facts, "machine": about, **found}


def measurements(directory: Path) -> list[tuple[Experiment, dict[str, Any]]]:
    """The experiments that have a file in this directory, in the report's order, with what it has."""
    files = ((name, directory / f"{name}.json") for name in EXPERIMENTS)
    return [(experiment(name), json.loads(file.read_text())) for name, file in files if file.exists()]


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="study", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--size", choices=list(SIZES), default="quick")
    parser.add_argument("--only", nargs="*", choices=EXPERIMENTS, default=EXPERIMENTS, metavar="NAME")
    parser.add_argument("--into", type=Path, default=ROOT / "docs/study", help="default: docs/study")
    parser.add_argument("--peers", default=sys.executable, help="the interpreter in whose environment the peers are")
    parser.add_argument("--programs", type=Path, default=ROOT / "target/release")
    parser.add_argument("--report-only", action="store_true", help="write the report from the stored measurements")
    arguments = parser.parse_args()
    # So that servers are stopped, and network namespaces removed.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    arguments.into.mkdir(parents=True, exist_ok=True)
    failed = []
    for name in [] if arguments.report_only else arguments.only:
        print(f"== {name}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="colonnade-study-", dir="/tmp") as scratch:
            # Database servers run as another user.
            Path(scratch).chmod(0o755)
            context = Context(SIZES[arguments.size], arguments.peers, arguments.programs, Path(scratch))
            found = measure(name, context)
        if "error" in found:
            failed.append(name)
        (arguments.into / f"{name}.json").write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n")
    print(report.write(arguments.into, measurements(arguments.into)))
    if failed:
        raise SystemExit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
