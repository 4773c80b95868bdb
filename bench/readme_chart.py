"""Draws README's chart from a table of bench/RESULTS.md.

    python bench/readme_chart.py

`docs/lineitem.svg`: seconds to read lineitem into a pyarrow.Table, a bar for each client: from PostgreSQL, and from a
server over DuckDB.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench/RESULTS.md"
CHART = ROOT / "docs/lineitem.svg"


@dataclass(frozen=True)
class Group:
    """The bars of one table."""

    title: str
    #: How the table begins.
    heading: str
    #: The names in the table, and those in the chart.
    clients: dict[str, str]


GROUPS = [
    Group(
        "Seconds to read 6 million rows of lineitem from PostgreSQL 15 into a pyarrow.Table",
        "### From end to end: lineitem, 6001215 rows",
        {
            "Colonnade": "Colonnade, with the extension",
            "Colonnade, no extension": "Colonnade, without it",
            "DuckDB postgres_scan": "DuckDB postgres_scan",
            "ConnectorX": "ConnectorX",
            "ADBC": "ADBC",
            "arrow-odbc": "arrow-odbc",
        },
    ),
    Group(
        "The same from a server over DuckDB, on one machine",
        "### lineitem SF1 from DuckDB into a pyarrow.Table",
        {"Colonnade, TCP": "colonnade serve", "Arrow Flight, TCP": "Arrow Flight"},
    ),
]
#: Sizes in pixels.
WIDTH, LABELS, BAR, GAP, TOP = 760, 210, 22, 8, 44


def seconds(results: str, group: Group) -> dict[str, float]:
    """The wall time of each client, by the chart's name."""
    table = results[results.index(group.heading) :].split("\n### ", 1)[0]
    rows: dict[str, str] = {}
    for name, wall in re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", table, re.MULTILINE):
        # A section has further tables with the same names.
        rows.setdefault(name, wall)
    return {shown: float(rows[name]) for name, shown in group.clients.items()}


def chart(results: str) -> str:
    """The chart as SVG. Its colours are readable on a light and on a dark page. Bars of all groups have one scale."""
    groups = [(group.title, seconds(results, group)) for group in GROUPS]
    height = sum(TOP + len(walls) * (BAR + GAP) + GAP for _, walls in groups)
    scale = (WIDTH - LABELS - 70) / max(wall for _, walls in groups for wall in walls.values())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="sans-serif" font-size="14" fill="#808080">',
    ]
    y = 0
    for title, walls in groups:
        lines.append(f'<text x="0" y="{y + 20}" font-size="15">{escape(title)}</text>')
        y += TOP
        for name, wall in walls.items():
            color = "#2a7ab9" if name.lower().startswith("colonnade") else "#a0a0a0"
            middle = y + BAR - 6
            lines += [
                f'<text x="{LABELS - 10}" y="{middle}" text-anchor="end">{escape(name)}</text>',
                f'<rect x="{LABELS}" y="{y}" width="{wall * scale:.1f}" height="{BAR}" fill="{color}"/>',
                f'<text x="{LABELS + wall * scale + 8:.1f}" y="{middle}">{wall:.1f}</text>',
            ]
            y += BAR + GAP
        y += GAP
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    CHART.write_text(chart(RESULTS.read_text()))
    print(f"{CHART}: written")
