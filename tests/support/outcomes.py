"""The tests on one version of a server in a process of their own, and a table of what ran."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Outcome:
    """What the tests of one version gave."""

    server: str
    passed: int
    failed: int
    skipped: dict[str, int]
    """The number of tests that were skipped, by reason."""
    seconds: float

    @property
    def is_good(self) -> bool:
        """Whether tests ran, and none failed."""
        return self.passed > 0 and self.failed == 0


def run(server: str, report: Path, arguments: Sequence[str], processes: int, variables: Mapping[str, str]) -> Outcome:
    """Runs pytest with further environment variables. Its report in XML is written to `report`."""
    report.parent.mkdir(parents=True, exist_ok=True)
    report.unlink(missing_ok=True)
    command = [sys.executable, "-m", "pytest", "-q", "--timeout=600", f"--junitxml={report}", *arguments]
    command += [f"--numprocesses={processes}", "--dist=loadfile"] if processes > 1 else []
    subprocess.run(command, cwd=ROOT, env={**os.environ, **variables}, check=False)
    return read(report, server)


def read(report: Path, server: str) -> Outcome:
    """The numbers in pytest's report, which does not exist if pytest could not begin."""
    if not report.exists():
        return Outcome(server, 0, 1, {}, 0)
    [suite] = ElementTree.parse(report).getroot().iter("testsuite")
    total, skips = int(suite.get("tests", 0)), list(suite.iter("skipped"))
    failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
    reasons: dict[str, int] = {}
    for skip in skips:
        reason = skip.get("message", "")
        reasons[reason] = reasons.get(reason, 0) + 1
    return Outcome(server, total - failed - len(skips), failed, reasons, float(suite.get("time", 0)))


def table(kind: str, outcomes: Sequence[Outcome]) -> str:
    """In Markdown, for docs."""
    lines = [f"| {kind} | passed | failed | skipped | seconds |", "|---|---|---|---|---|"]
    for one in outcomes:
        reasons = "; ".join(f"{count}: {reason}" for reason, count in one.skipped.items())
        lines.append(f"| {one.server} | {one.passed} | {one.failed} | {reasons or 0} | {one.seconds:.0f} |")
    return "\n".join(lines)
