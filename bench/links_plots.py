"""Plots the results of `links.py` and `links_rivals.py`.

    python bench/links_plots.py LINKS.json RIVALS.json DIRECTORY

`links.svg`: rows per second by the link's rate, table by table, for `auto`, each fixed configuration and, for lineitem,
the competing systems. `swing.svg` and `wander.svg`: rows received over time, while the link changes.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import links
import links_rivals
import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

mpl.use("svg")
# Text stays text, and the same numbers give the same file.
plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "colonnade"})

COLUMNS = 2
#: Points of a line over time; more would only make the file larger.
POINTS = 120
NAMES = [*links.FIXED, *links_rivals.RIVALS]


def style(name: str) -> dict[str, Any]:
    """The style of a line, the same in all panels."""
    if name == "auto":
        return {"linewidth": 2.5, "color": "black", "zorder": 3}
    return {"linewidth": 1, "color": plt.get_cmap("tab20")(2 * NAMES.index(name) % 20 + (NAMES.index(name) > 9))}


def rates(axes: Axes, found: list[dict[str, Any]], rivals: list[dict[str, Any]]) -> None:
    """Rows per second by Mbit/s."""
    series: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in sorted(found, key=lambda one: one["rate"]):
        for name, wall in one["medians"].items():
            series[name].append((one["rate"], one["rows"] / wall))
    for name, points in series.items():
        axes.plot(*zip(*points, strict=True), marker="o", markersize=3, label=name, **style(name))
    walls: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rivals:
        walls[row["contender"]][row["rate"]].append(row["rows"] / row["wall"])
    for name, points in walls.items():
        medians = [(rate, statistics.median(given)) for rate, given in sorted(points.items())]
        axes.plot(*zip(*medians, strict=True), marker="x", linestyle=":", label=name, **style(name))
    axes.set(xscale="log", yscale="log", xlabel="Mbit/s", ylabel="rows a second")


def over_time(axes: Axes, one: dict[str, Any]) -> None:
    """Million rows by seconds."""
    end = 0.0
    for name in ("auto", *(name for name in one["medians"] if name != "auto")):
        progress = one["readings"][name][-1]["progress"]
        shown = [*progress[:: len(progress) // POINTS + 1], progress[-1]]
        axes.plot([at for at, _ in shown], [rows / 1e6 for _, rows in shown], label=name, **style(name))
        end = max(end, progress[-1][0])
    middle = sum(one["swings"]) / len(one["swings"])
    for number in range(int(end / one["period"]) + 1):
        if one["swings"][number % len(one["swings"])] < middle:
            axes.axvspan(number * one["period"], min((number + 1) * one["period"], end), color="#eeeeee")
    axes.set(xlabel="seconds (grey: the link is slow)", ylabel="million rows")


def draw(path: Path, title: str, panels: dict[str, Callable[[Axes], None]]) -> None:
    """A panel for each table, and one legend."""
    lines = -(-len(panels) // COLUMNS)
    figure, grid = plt.subplots(
        lines, COLUMNS, figsize=(5 * COLUMNS, 3.2 * lines + 1), layout="constrained", squeeze=False
    )
    for axes in grid.flat[len(panels) :]:
        axes.set_axis_off()
    handles: dict[str, Any] = {}
    for axes, (table, fill) in zip(grid.flat, panels.items(), strict=False):
        fill(axes)
        axes.set_title(table)
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.suptitle(title)
    figure.legend(handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)
    print(path)


def main() -> None:
    results: list[dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text())
    measured, directory = Path(sys.argv[2]), Path(sys.argv[3])
    rows: list[dict[str, Any]] = json.loads(measured.read_text()) if measured.exists() else []
    rivals = [
        row for row in rows if row["is_steady"] and "error" not in row and not row["contender"].startswith("Colonnade")
    ]
    tables: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in results:
        tables[one["table"]].append(one)

    def steady(table: str) -> Callable[[Axes], None]:
        found = [one for one in tables[table] if one["link"].isdigit()]
        return lambda axes: rates(axes, found, [row for row in rivals if row["table"] == table])

    draw(
        directory / "links.svg", "Throughput against the link's rate (no loss)", {name: steady(name) for name in tables}
    )
    changing = {one["link"]: one["described"] for one in results if one["swings"]}
    for link, described in changing.items():
        found = {one["table"]: one for one in results if one["link"] == link}
        panels = {name: lambda axes, one=one: over_time(axes, one) for name, one in found.items()}
        draw(directory / f"{link}.svg", described, panels)


if __name__ == "__main__":
    main()
