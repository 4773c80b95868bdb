"""lineitem written into PostgreSQL over emulated links, by Colonnade and by competing systems.

    python bench/writes_links.py [--links lan wan] [--rows N] [--rounds N] [--peers PYTHON] [--json FILE]
                                 [--markdown FILE]

The server is in one network namespace, the clients in another (`laboratory.py`), which needs root; without it, nothing
is measured. The LAN has 1000 Mbit/s, the WAN 100 Mbit/s with 25 ms each way and 1 % loss. Bytes are those of all
packets that a client has sent, including headers.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from contextlib import ExitStack, nullcontext
from dataclasses import replace

import data
import laboratory
from colonnade._cli.memory_state import memory_report
from laboratory import CLIENT_SIDE, SERVER, SERVER_SIDE, Link, congestion_controls, inside, shaped, within
from links_rivals import LINKS
from postgres_tables import let_in, pg
from turns import Contender, Row, reading
from writes import POSTGRES, command, middle, per_million, reason, spread
from writes_places import REPLICA, Source, Target, difference, postgres_target

NAMES = ("lan", "wan")
#: The contenders that send rows, without those that need minutes.
CONTENDERS = [
    one for one in POSTGRES if not one.slow and one.peer != "psycopg_statement" and not one.options.get("unix")
]


def over(link: Link, source: Source, arguments: argparse.Namespace) -> list[Row]:
    results: list[Row] = []
    with ExitStack() as stack:
        stack.enter_context(shaped(link, arguments.shaper))
        with within(SERVER_SIDE):
            cluster = stack.enter_context(pg.cluster(stack.enter_context(pg.installed()), REPLICA))
            let_in(cluster)
            target = postgres_target(cluster, source, SERVER, has_extension=True)
        dead: set[str] = set()
        for number in range(arguments.rounds):
            for contender in CONTENDERS:
                if contender.name not in dead:
                    row = measure(target, contender, source, arguments.peers, number == 0)
                    if "error" in row:
                        dead.add(contender.name)
                    results.append({"part": link.described, "table": link.name, "contender": contender.name, **row})
                    shown = row.get("error") or f"{row['wall']:.2f} s"
                    print(f"round {number} {link.name} {contender.name}: {shown}", file=sys.stderr, flush=True)
    return results


def measure(target: Target, contender: Contender, source: Source, peers: str, summed: bool) -> Row:
    """One contender writes once, from the client's side of the link."""
    target.empty()
    asked = command(peers if contender.other else sys.executable, contender, target, source, is_alone=True)
    has_extension = contender.options.get("extension", True)
    with nullcontext() if has_extension else target.without_extension():
        row = reading(inside(CLIENT_SIDE, *asked), target.cpu)
    here = replace(target, place={**target.place, "host": "127.0.0.1"})
    with within(SERVER_SIDE):
        wrong = None if "error" in row else difference(here, source, source.rows, summed)
    return {"error": f"wrong: {wrong}"} if wrong else row


def markdown(results: list[Row], rows: int, rounds: int, state: str) -> str:
    lines = [
        f"{rows:,} rows of lineitem into PostgreSQL; seconds for a million. Medians of {rounds} rounds. {state}",
        "",
    ]
    for part in dict.fromkeys(row["part"] for row in results):
        scale = next(row["table"] for row in results if row["part"] == part)
        lines += [
            f"### Writing over {part}",
            "",
            "| a million rows | wall s | client CPU s | server CPU s | bytes/row |",
        ]
        lines.append("|---|--:|--:|--:|--:|")
        for contender in CONTENDERS:
            where = part, scale, contender.name
            if not (walls := per_million(results, *where, "wall")):
                lines.append(f"| {contender.name} | {reason(results, *where)} | | | |")
                continue
            costs = [f"{middle(results, *where, field) or 0.0:.2f}" for field in ("client_cpu", "server_cpu")]
            size = (middle(results, *where, "wire_bytes") or 0.0) / 1e6
            lines.append(f"| {contender.name} | {spread(walls)} | {' | '.join(costs)} | {size:.0f} |")
        lines.append("")
    return "\n".join(lines)


def main() -> None:
    parser = laboratory.arguments(__doc__, NAMES)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--peers", default=sys.executable, help="the interpreter that has the peers")
    if os.geteuid() != 0:
        print("writing over links is not measured: network namespaces need root", file=sys.stderr)
        return
    arguments = laboratory.begin(parser)
    state = memory_report()
    source = Source.of(data.write("lineitem"), arguments.rows)
    results: list[Row] = []
    for link in LINKS:
        if link.name not in arguments.links:
            continue
        if link.congestion not in congestion_controls():
            print(f"{link.name}: this kernel has no {link.congestion.upper()}", file=sys.stderr)
            continue
        results += over(link, source, arguments)
    text = markdown(results, source.rows, arguments.rounds, state)
    print(text)
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": source.rows, "results": results}, indent=1) + "\n")
    if arguments.markdown:
        arguments.markdown.write_text(text)


if __name__ == "__main__":
    main()
