"""Writes what a benchmark has measured into its section of bench/RESULTS.md, and leaves the other sections as they are.

    python bench/report.py wire [end-to-end …]

`make bench-wire` and the other targets call it when they have measured. A section begins with the commit, the machine
and the date of its measurement, and with its figures next to the targets.
"""

from __future__ import annotations

import argparse
import datetime as dt
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import machine
import report_aims as aims
import writes_aims
from data import DIRECTORY

RESULTS = Path(__file__).with_name("RESULTS.md")
TITLE = """# Results of `make bench`

Each section was measured on its own, at the commit that it names. `bench/report.py` writes the sections.
"""


@dataclass(frozen=True)
class Section:
    """What a target of the Makefile measures."""

    title: str
    #: The files in `DIRECTORY` that the benchmarks have written, without `.md`. Those that need root may be absent.
    files: Sequence[str]
    #: The lines with the aims, from the results in the files' `.json`; `None` of a file that is absent.
    aims: Callable[..., list[str]] = lambda *_: []


def _wire(_: None, tables: Any) -> list[str]:
    return aims.wire_aims(tables)


def _end_to_end(found: Any, tables: Any) -> list[str]:
    return aims.end_to_end_aims(found["results"]) + aims.flight_aims(tables or [])


def _postgres(found: Any) -> list[str]:
    return aims.postgres_aims(found["results"]) + aims.stock_aims(found["results"])


def _sources(found: Any) -> list[str]:
    return aims.sources_aims(found["results"])


def _links(found: Any, rivals: Any) -> list[str]:
    return aims.links_aims(found or [], rivals or [])


def _writes(found: Any, over_links: Any) -> list[str]:
    return writes_aims.aims(found["results"], over_links["results"] if over_links else [])


#: By the ends of the names of their targets, in the page's order.
SECTIONS = {
    "wire": Section("The format, one core", ["wire_memory", "wire"], _wire),
    "end-to-end": Section("End to end", ["end_to_end", "end_to_end_tables"], _end_to_end),
    "destinations": Section("Into pyarrow, polars and pandas", ["destinations"]),
    "postgres": Section("PostgreSQL", ["postgres"], _postgres),
    "sources": Section("MariaDB and SQLite", ["sources"], _sources),
    "adbc": Section("The ADBC driver", ["adbc"], aims.adbc_aims),
    "writes": Section("Writing", ["writes", "writes_links"], _writes),
    "links": Section("Links", ["links", "rivals"], _links),
    "plans": Section("Plans", ["plans", "plans_readers"]),
    "engines": Section("Engines", ["engines"]),
    "growth": Section("Growth", ["growth"]),
    "concurrency": Section("Many clients at once", ["concurrency"]),
}


def written(name: str, section: Section) -> str:
    """A section, from what is in `DIRECTORY`."""
    environment = machine.described(f"bench/{RESULTS.name}")
    environment["Measured"] = f"`make bench-{name}`, {dt.date.today():%-d %B %Y}"
    about = [f"- {what}: {it}" for what, it in environment.items()]
    results = [json.loads(path.read_text()) if path.exists() else None for path in _paths(section, "json")]
    tables = [path.read_text().strip() for path in _paths(section, "md") if path.exists()]
    parts = ["\n".join(about), "\n".join(section.aims(*results)), *tables]
    return "\n\n".join(part for part in parts if part) + "\n"


def _paths(section: Section, ending: str) -> list[Path]:
    return [DIRECTORY / f"{file}.{ending}" for file in section.files]


def kept(page: str) -> dict[str, str]:
    """The sections of a page by their titles."""
    parts = re.split(r"^## (.*)\n\n", page, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def merged(page: str, new: dict[str, str]) -> str:
    """The page with new sections, in the order of `SECTIONS`; what else it has comes last."""
    found = {**kept(page), **new}
    order = [section.title for section in SECTIONS.values() if section.title in found]
    order += [title for title in found if title not in order]
    return "\n".join([TITLE, *(f"## {title}\n\n{found[title].rstrip()}\n" for title in order)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="+", choices=list(SECTIONS))
    arguments = parser.parse_args()
    new = {SECTIONS[name].title: written(name, SECTIONS[name]) for name in arguments.sections}
    RESULTS.write_text(merged(RESULTS.read_text() if RESULTS.exists() else "", new))
    print(f"{RESULTS}: {', '.join(new)} written")


if __name__ == "__main__":
    main()
