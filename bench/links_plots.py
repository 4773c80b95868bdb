"""Draws what `links.py` measured.

    python bench/links_plots.py LINKS.json RIVALS.json DIRECTORY

`links-TABLE.svg`: rows a second against the link's rate, for `auto`, each fixed configuration and, of lineitem, what
`links_rivals.py` measured on the LAN. `swing-TABLE.svg`:
rows that have arrived over time, while the link changes.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

mpl.use("svg")


def rates(axes: Axes, found: list[dict[str, Any]], rivals: list[dict[str, Any]]) -> None:
    series: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in sorted(found, key=lambda one: one["rate"]):
        for name, wall in one["medians"].items():
            series[name].append((one["rate"], one["rows"] / wall))
    for name, points in series.items():
        style: dict[str, Any] = {"linewidth": 3, "color": "black"} if name == "auto" else {"linewidth": 1}
        axes.plot(*zip(*points, strict=True), marker="o", label=name, **style)
    for name in dict.fromkeys(row["contender"] for row in rivals):
        walls = [row["rows"] / row["wall"] for row in rivals if row["contender"] == name]
        axes.plot([1000], [statistics.median(walls)], marker="x", linestyle="", label=name)
    axes.set(xscale="log", yscale="log", xlabel="Mbit/s", ylabel="rows a second")


def over_time(axes: Axes, one: dict[str, Any]) -> None:
    end = 0.0
    for name in ("auto", *(name for name in one["medians"] if name != "auto")):
        progress = one["readings"][name][-1]["progress"]
        style: dict[str, Any] = {"linewidth": 3, "color": "black"} if name == "auto" else {"linewidth": 1}
        axes.plot([at for at, _ in progress], [rows / 1e6 for _, rows in progress], label=name, **style)
        end = max(end, progress[-1][0])
    for number in range(int(end / one["period"]) + 1):
        if one["swings"][number % len(one["swings"])] < sum(one["swings"]) / len(one["swings"]):
            axes.axvspan(number * one["period"], (number + 1) * one["period"], color="#eeeeee")
    axes.set(xlabel="seconds (grey: the link is slow)", ylabel="million rows")


def draw(path: Path, title: str, fill: Any, found: Any) -> None:
    figure, axes = plt.subplots(figsize=(7, 4.5), layout="constrained")
    fill(axes, found)
    axes.set_title(title)
    axes.legend(fontsize="small")
    figure.savefig(path)
    plt.close(figure)
    print(path)


def main() -> None:
    results: list[dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text())
    rivals, directory = Path(sys.argv[2]), Path(sys.argv[3])
    measured: list[dict[str, Any]] = json.loads(rivals.read_text()) if rivals.exists() else []
    on_lan = [
        row for row in measured if row["link"] == "lan" and "error" not in row and "Colonnade" not in row["contender"]
    ]
    for table in dict.fromkeys(one["table"] for one in results):
        here = [one for one in results if one["table"] == table]
        steady = [one for one in here if one["link"].isdigit()]
        if len(steady) > 1:
            draw(
                directory / f"links-{table}.svg",
                f"{table}: CUBIC, no loss",
                lambda axes, found, table=table: rates(axes, found, on_lan if table == "lineitem" else []),
                steady,
            )
        for one in here:
            if one["swings"]:
                draw(directory / f"{one['link']}-{table}.svg", f"{table}: {one['described']}", over_time, one)


if __name__ == "__main__":
    main()
