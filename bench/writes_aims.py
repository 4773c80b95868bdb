"""The targets of `make bench-writes`, for `report.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from turns import Contender
from writes import CONTENDERS, FLOORS, SHARED, middle
from writes_links import CONTENDERS as OVER_LINKS

#: PostgreSQL: the client's CPU seconds for a million rows; the server's CPU divided by that of COPY binary from a file,
#: without the extension and with it.
CLIENT_CPU_AIM, SERVER_CPU_AIM, EXTENSION_CPU_AIM = 0.4, 1.05, 0.75
#: With the extension, over a link: wall time divided by that of the best competitor.
LINKS_AIM = {"lan": 0.6, "wan": 0.3}
#: MariaDB: the server's CPU divided by that of LOAD DATA from a file; the client's, by the best competitor's.
MARIADB_CPU_AIM, MARIADB_CLIENT_AIM = 1.1, 1.0
#: SQLite: CPU divided by the best competitor's.
SQLITE_AIM = 0.8
#: `colonnade serve`: wall time divided by that of CREATE TABLE AS in process.
SERVE_AIM = 1.3
EXTENSION = "Colonnade, with the extension"

#: How the names of contenders begin that are no competitors: ours, and those that have the rows as bytes.
NO_COMPETITORS = ("Colonnade", "floor", "psycopg", "PyMySQL")

Row = dict[str, Any]


def judged(what: str, found: tuple[float | None, float | None], aim: float, whose: str) -> list[str]:
    """One line: our figure divided by another's. A line says so if ours was not measured."""
    ours, theirs = found
    if not theirs:
        return []
    if ours is None:
        return [f"- {what}: not measured (target: ≤ {aim:g} x {whose})"]
    ratio = ours / theirs
    return [f"- {what}: {ratio:.2f} x {whose} {'✓' if ratio <= aim else '✗'} (≤ {aim:g})"]


def best(contenders: Iterable[Contender], cost: Callable[[str], float | None]) -> tuple[float | None, str]:
    """The competitor that costs the least."""
    costs = {
        one.name: found
        for one in contenders
        if not one.name.startswith(NO_COMPETITORS) and (found := cost(one.name)) is not None
    }
    name = min(costs, key=lambda name: costs[name], default="")
    return costs.get(name), name


def aims(results: list[Row], links: list[Row]) -> list[str]:
    scales = list(dict.fromkeys(row["table"] for row in results))
    return [line for scale in scales for line in of_scale(results, scale)] + of_links(links)


def of_scale(results: list[Row], scale: str) -> list[str]:
    def of(part: str, name: str, *fields: str) -> float | None:
        return middle(results, part, scale, name, *fields)

    def against(part: str, name: str, other: str, *fields: str) -> tuple[float | None, float | None]:
        return of(part, name, *fields), of(part, other, *fields)

    lines = []
    if (client := of("PostgreSQL", "Colonnade", "client_cpu")) is not None:
        mark = "✓" if client <= CLIENT_CPU_AIM else "✗"
        lines.append(
            f"- Writing to PostgreSQL, {scale}, client CPU: {client:.2f} s for a million rows {mark} "
            f"(≤ {CLIENT_CPU_AIM} s)"
        )
    floor = "COPY binary from a file"
    for name, aim in (("Colonnade", SERVER_CPU_AIM), (EXTENSION, EXTENSION_CPU_AIM)):
        found = against("PostgreSQL", name, FLOORS["PostgreSQL"], "server_cpu")
        lines += judged(f"Writing to PostgreSQL, {scale}, {name}, server CPU", found, aim, floor)
    found = against("MariaDB", "Colonnade", FLOORS["MariaDB"], "server_cpu")
    lines += judged(f"Writing to MariaDB, {scale}, server CPU", found, MARIADB_CPU_AIM, "LOAD DATA from a file")
    # Slow competitors are measured at one scale; the time for a million rows does not depend on it.
    cost, name = best(CONTENDERS["MariaDB"], lambda name: first(results, "MariaDB", name, "client_cpu"))
    ours = of("MariaDB", "Colonnade", "client_cpu")
    lines += judged(f"Writing to MariaDB, {scale}, client CPU", (ours, cost), MARIADB_CLIENT_AIM, name)
    cost, name = best(CONTENDERS["SQLite"], lambda name: of("SQLite", name, "client_cpu"))
    lines += judged(
        f"Writing to SQLite, {scale}, CPU", (of("SQLite", "Colonnade", "client_cpu"), cost), SQLITE_AIM, name
    )
    kind, floor = SHARED["colonnade serve"]
    pair = of("colonnade serve", "Colonnade", "wall"), of(kind, floor, "wall")
    return lines + judged(f"Writing to colonnade serve, {scale}, wall", pair, SERVE_AIM, "CREATE TABLE AS in process")


def first(results: list[Row], part: str, name: str, *fields: str) -> float | None:
    """The median at the first scale at which this contender was measured."""
    for scale in dict.fromkeys(row["table"] for row in results):
        if (found := middle(results, part, scale, name, *fields)) is not None:
            return found
    return None


def of_links(links: list[Row]) -> list[str]:
    lines = []
    for part in dict.fromkeys(row["part"] for row in links):
        scale = next(row["table"] for row in links if row["part"] == part)

        def wall(name: str, part: str = part, scale: str = scale) -> float | None:
            return middle(links, part, scale, name, "wall")

        theirs, name = best(OVER_LINKS, wall)
        lines += judged(
            f"Writing to PostgreSQL over {part}, {EXTENSION}, wall", (wall(EXTENSION), theirs), LINKS_AIM[scale], name
        )
    return lines
