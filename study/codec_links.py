"""Table 5: the best compression for each link."""

from __future__ import annotations

import os
from dataclasses import replace

from laboratory import Link

from study import databases, figures, systems
from study.experiment import Context, Experiment, Finding, Part, Row, Table, Text, Unmeasurable
from study.medians import cell, median, names, ratio, reason

#: Mbit/s; None is this machine itself.
RATES: dict[str, tuple[float | None, ...]] = {
    "tiny": (None, 100.0),
    "quick": (None, 1000.0, 100.0, 10.0),
    "full": (None, 1000.0, 100.0, 10.0),
}
#: Rows of the quick size, so that a slow link does not take too long.
ROWS = {None: 200_000, 1000.0: 200_000, 100.0: 100_000, 10.0: 40_000}
#: Rows of the full size, so that the slowest link takes some seconds even without compression.
FULL = {None: 6_000_000, 1000.0: 6_000_000, 100.0: 2_000_000, 10.0: 200_000}
FIXED = ("plain", "light", "light+fsst", "light+lz4", "light+zstd-1", "light+zstd-9")
AUTO = "Colonnade, as it chooses"
#: Up to this ratio to the best, one reading cannot show a difference.
EQUAL_UP_TO = 1.1
OURS = [
    *(replace(systems.SERVE, name=f"Colonnade, {one}", options={"compression": one}) for one in FIXED),
    replace(systems.SERVE, name=AUTO),
]
OTHERS = systems.by_name(
    "DuckDB, Arrow Flight",
    "DuckDB, Arrow Flight, LZ4",
    "DuckDB, Arrow Flight, ZSTD",
    "CSV through a socket",
    "CSV through a socket, snappy",
    "CSV through a socket, gzip",
)


def named(rate: float | None) -> str:
    return "local" if rate is None else f"{rate:g} Mbit/s"


def run(context: Context) -> list[Row]:
    if os.geteuid() != 0:
        raise Unmeasurable("links need network namespaces, and they need root")
    size = context.size.name
    given = FULL if size == "full" else ROWS
    rows = {rate: min(context.size.rows, given[rate]) for rate in RATES[size]}
    # One table for each number of rows, because a query with a LIMIT would be another query.
    tables = {f"lineitem_{count}": databases.first(context, "lineitem", count) for count in rows.values()}
    found: list[Row] = []
    with databases.started(context, tables, [*OURS, *OTHERS]) as there:
        for rate, count in rows.items():
            link = None if rate is None else Link(named(rate), rate, queue=max(100_000, int(rate * 1000)))
            found += there.readings([*OURS, *OTHERS], f"lineitem_{count}", (link,))
    for codec, (*seconds, megabytes) in figures.CODECS.items():
        for rate, one in zip(RATES["full"], seconds, strict=True):
            found.append({"system": codec, "link": named(rate), "paper": True, "seconds": one, "megabytes": megabytes})
    return found


def per_million(rows: list[Row], system: str, link: str) -> float | None:
    return ratio(median(rows, "wall", system=system, link=link), median(rows, "rows", system=system, link=link))


def show(rows: list[Row]) -> list[Part]:
    links = [named(rate) for rate in RATES["full"]]
    lines = []
    for name in names(rows):
        shown = []
        for link in links:
            where = {"system": name, "link": link}
            rows_read = median(rows, "rows", **where)
            shown.append(cell(rows, "wall", 1e6 / rows_read, **where) if rows_read else reason(rows, **where))
        size = median(rows, "wire_bytes", system=name, link="100 Mbit/s")
        count = median(rows, "rows", system=name, link="100 Mbit/s")
        lines.append([name, *shown, ratio(size, count)])
    theirs = {(row["system"], row["link"]): row for row in rows if row.get("paper")}
    codecs = dict.fromkeys(row["system"] for row in rows if row.get("paper"))
    paper = [
        [f"{codec} (paper)", *(theirs[codec, link]["seconds"] for link in links), theirs[codec, links[0]]["megabytes"]]
        for codec in codecs
    ]
    return [
        Table("Seconds for a million rows of lineitem; bytes on the wire", ["", *links, "bytes/row"], lines),
        Table("The paper's seconds, and MB of its lineitem", ["", *links, "MB"], paper),
        Text("Fewer rows are sent over slow links. All times are scaled to a million rows and include connecting."),
    ]


def findings(rows: list[Row]) -> list[Finding]:
    fixed = [f"Colonnade, {one}" for one in FIXED]
    best: dict[str, str] = {}
    for link in (named(rate) for rate in RATES["full"]):
        times = {name: per_million(rows, name, link) for name in fixed}
        known = {name: time for name, time in times.items() if time is not None}
        if known:
            best[link] = min(known, key=known.__getitem__)

    def times_plain(system: str, link: str) -> float | None:
        return ratio(per_million(rows, system, link), per_million(rows, "Colonnade, plain", link))

    lan, slow = (times_plain("Colonnade, light", link) for link in ("1000 Mbit/s", "10 Mbit/s"))
    heavy = ratio(
        per_million(rows, "Colonnade, light+zstd-9", "10 Mbit/s"), per_million(rows, "Colonnade, light", "10 Mbit/s")
    )
    bare = ratio(per_million(rows, "Colonnade, plain", "local"), per_million(rows, best.get("local", ""), "local"))
    regrets = {link: ratio(per_million(rows, AUTO, link), per_million(rows, name, link)) for link, name in best.items()}
    chosen = "; ".join(f"{link}: {name.removeprefix('Colonnade, ')}" for link, name in best.items())
    return [
        Finding(
            "The best compression depends only on the link. On one machine it is no compression.",
            f"The fastest of our fixed configurations: {chosen}. On one machine plain chunks take {bare:.2f} times as "
            "long as the fastest."
            if bare
            else "Not measured.",
            bare <= EQUAL_UP_TO and len(set(best.values())) > 1 if bare else None,
        ),
        Finding(
            "Light compression saves time at a gigabit and below (Snappy: 0.37 of the time).",
            f"At a gigabit, light encodings take {lan:.2f} of the time of plain chunks." if lan else "Not measured.",
            lan < 1 if lan else None,
        ),
        Finding(
            "Heavy compression saves time only at 10 Mbit/s (GZIP: 0.61 of Snappy's time).",
            f"At 10 Mbit/s, light encodings take {slow:.2f} of the time of plain chunks. With Zstandard 9 in addition "
            f"they take {heavy:.2f} of the time of light encodings alone."
            if slow and heavy
            else "Not measured.",
            heavy < 1 if heavy else None,
        ),
        Finding(
            "A fixed rule is sufficient: no compression on one machine, a light codec otherwise.",
            "Colonnade chooses by measuring. Its time over that of the best fixed configuration of each link: "
            + ", ".join(f"{one:.2f} ({link})" for link, one in regrets.items() if one)
            + ".",
            None,
        ),
    ]


EXPERIMENT = Experiment(
    title="Compression and links",
    source="VLDB 2017, Table 5",
    question=(
        "Which compression is best on which link? Our fixed configurations, and those of Arrow Flight and of CSV, are "
        "measured over an emulated link. `colonnade serve` requires TLS for clients on other machines."
    ),
    run=run,
    show=show,
    findings=findings,
)
