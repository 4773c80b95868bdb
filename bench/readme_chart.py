"""Draws README's chart from a table of bench/RESULTS.md.

    python bench/readme_chart.py

`docs/lineitem.svg`: seconds to read lineitem from PostgreSQL into a pyarrow.Table, a bar for each client.
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "bench/RESULTS.md"
CHART = ROOT / "docs/lineitem.svg"
HEADING = "### From end to end: lineitem, 6001215 rows"
#: The names in the table, and those in the chart.
CLIENTS = {
    "Colonnade": "Colonnade, with the extension",
    "Colonnade, no extension": "Colonnade, without it",
    "DuckDB postgres_scan": "DuckDB postgres_scan",
    "ConnectorX": "ConnectorX",
    "ADBC": "ADBC",
    "arrow-odbc": "arrow-odbc",
}
#: Sizes in pixels.
WIDTH, LABELS, BAR, GAP, TOP = 760, 210, 22, 8, 44


def seconds(results: str) -> dict[str, float]:
    """The wall time of each client, by the chart's name."""
    table = results[results.index(HEADING) :].split("\n### ", 1)[0]
    rows = dict(re.findall(r"^\| ([^|]+) \| ([\d.]+) \|", table, re.MULTILINE))
    return {shown: float(rows[name]) for name, shown in CLIENTS.items()}


def chart(walls: dict[str, float]) -> str:
    """The chart as SVG. Its colours are readable on a light and on a dark page."""
    height = TOP + len(walls) * (BAR + GAP) + GAP
    scale = (WIDTH - LABELS - 70) / max(walls.values())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}"'
        ' font-family="sans-serif" font-size="14" fill="#808080">',
        '<text x="0" y="20" font-size="15">Seconds to read 6 million rows of lineitem from PostgreSQL 15 into a'
        " pyarrow.Table</text>",
    ]
    for index, (name, wall) in enumerate(walls.items()):
        y = TOP + index * (BAR + GAP)
        color = "#2a7ab9" if name.startswith("Colonnade") else "#a0a0a0"
        middle = y + BAR - 6
        lines += [
            f'<text x="{LABELS - 10}" y="{middle}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{LABELS}" y="{y}" width="{wall * scale:.1f}" height="{BAR}" fill="{color}"/>',
            f'<text x="{LABELS + wall * scale + 8:.1f}" y="{middle}">{wall:.1f}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    CHART.write_text(chart(seconds(RESULTS.read_text())))
    print(f"{CHART}: written")
