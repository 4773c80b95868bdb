"""The use of each byte of an answer, in each protocol: the figures of section 2.3, from the recorded bytes between real
clients and real servers."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from matplotlib.axes import Axes

from study.experiment import Context, Experiment, Finding, Part, Plot, Row, Table, Text
from study.pieces import KINDS, OF_ROWS, Annotated, Kind, Malformed, Piece, check, dump, sums
from study.wire_servers import TABLES, TIMES, VALUES, all_of_them

#: Values of a row.
WIDTH = 2
MANY_ROWS = TIMES * len(VALUES)
#: The bytes of the two rows in the paper's figures, as counted there; MySQL's from its description. For DBMS X and
#: Hive, the paper does not contain enough information to count them.
PAPER: dict[str, dict[Kind, int] | None] = {
    "PostgreSQL": {"value": 11, "length": 12, "null": 4, "row": 14},
    "MySQL": {"value": 16, "length": 3, "null": 1, "row": 8},
    "DBMS X": None,
    "MonetDB": {"value": 16, "null": 4, "row": 14},
    "Hive": None,
}
IN_PROCESS = "SQLite, DuckDB in process"
WORDS: dict[Kind, str] = {
    "value": "values",
    "length": "lengths, offsets",
    "null": "NULLs",
    "row": "each row",
    "batch": "each batch",
    "padding": "padding",
    "columns": "columns described",
    "ends": "begin and end",
    "compressed": "compressed",
}


def agrees(annotated: Annotated, table: str) -> bool:
    """Whether the rows that were decoded from the bytes are the table's."""
    return Counter(annotated.rows) == Counter(dict.fromkeys(VALUES, TABLES[table]))


def piece_row(protocol: str, piece: Piece, *, inside: bool) -> Row:
    found = {"offset": piece.offset, "hex": piece.bytes.hex(), "what": piece.what, "kind": piece.kind}
    return {"part": "piece", "protocol": protocol, "inside": inside, **found}


def size_row(protocol: str, table: str, annotated: Annotated) -> Row:
    spent = sums(annotated.pieces)
    total = sum(spent.values())
    return {"part": "size", "protocol": protocol, "table": table, "rows": len(annotated.rows), "bytes": total, **spent}


def run(context: Context) -> list[Row]:
    rows: list[Row] = []
    with all_of_them(context.scratch) as ways:
        for way in ways:
            for table in TABLES:
                answer = way.read(table)
                annotated = answer.annotate(answer.data)
                check(annotated, answer.data)
                if not agrees(annotated, table):
                    raise Malformed(f"{way.name}: the bytes stand for other rows than those of {table}")
                rows.append(size_row(way.name, table, annotated))
                if table == "small":
                    rows += [piece_row(way.name, piece, inside=False) for piece in annotated.pieces]
                    rows += [piece_row(way.name, piece, inside=True) for piece in annotated.inside]
    rows += [size_row(IN_PROCESS, table, Annotated([], VALUES * times)) for table, times in TABLES.items()]
    for name, spent in PAPER.items():
        known = {"rows": len(VALUES), **(spent or {})}
        rows.append({"part": "size", "protocol": name, "table": "small", "paper": True, "bytes": None, **known})
    return rows


def sizes(rows: list[Row], table: str) -> list[Row]:
    return [row for row in rows if row["part"] == "size" and row["table"] == table]


def of_rows(row: Row) -> int | None:
    """The bytes of the rows, if they can be counted."""
    if row.get("compressed") or not any(kind in row for kind in OF_ROWS):
        return None
    return sum(row.get(kind, 0) for kind in OF_ROWS)


def overhead(row: Row) -> float | None:
    """Bytes per value, without the value's own bytes."""
    total = of_rows(row)
    return None if not total else (total - row["value"]) / (row["rows"] * WIDTH)


def of_two_rows(rows: list[Row]) -> Table:
    lines: list[list[Any]] = []
    for row in sizes(rows, "small"):
        name = f"{row['protocol']} (paper)" if row.get("paper") else row["protocol"]
        parts = [row.get(kind) or None for kind in KINDS]
        lines.append([name, of_rows(row), overhead(row), *parts, row["bytes"]])
    columns = ["", "both rows", "overhead a value", *(WORDS[kind] for kind in KINDS), "whole answer"]
    return Table("Bytes of the paper's two rows", columns, lines)


def of_many_rows(rows: list[Row]) -> Table:
    lines: list[list[Any]] = []
    for row in sizes(rows, "many"):
        parts = [row[kind] / row["rows"] if row[kind] else None for kind in KINDS]
        lines.append([row["protocol"], row["bytes"] / row["rows"], overhead(row), *parts])
    columns = ["", "bytes a row", "overhead a value", *(WORDS[kind] for kind in KINDS)]
    return Table(f"The same rows {TIMES:,} times over: bytes a row, the whole answer counted", columns, lines)


def draw(rows: list[Row], axes: Axes) -> None:
    # The longest bar is at the top.
    found = [row for row in reversed(sizes(rows, "many")) if row["bytes"]]
    names = [row["protocol"] for row in found]
    left = [0.0] * len(found)
    for kind in KINDS:
        widths = [row[kind] / row["rows"] for row in found]
        if any(widths):
            axes.barh(names, widths, left=left, label=WORDS[kind])
            left = [a + b for a, b in zip(left, widths, strict=True)]
    axes.set_xlabel("bytes a row")
    axes.legend(fontsize=8)


def dumps(rows: list[Row]) -> list[Part]:
    """The annotated bytes of each protocol."""
    pieces: dict[tuple[str, bool], list[Piece]] = {}
    for row in rows:
        if row["part"] == "piece":
            piece = Piece(row["offset"], bytes.fromhex(row["hex"]), row["what"], row["kind"])
            pieces.setdefault((row["protocol"], row["inside"]), []).append(piece)
    parts: list[Part] = []
    for (protocol, inside), found in pieces.items():
        parts += [Text(f"{protocol}, decompressed:" if inside else f"{protocol}:"), Text(dump(found), is_code=True)]
    return parts


def show(rows: list[Row]) -> list[Part]:
    about = (
        "The bytes are a server's complete answer to “select i, v from small”. Its rows are (100000000, 'OK') and "
        "(NULL, 'DPFKG'). Bytes of the kind “each row” are repeated with each row; bytes of the kind “each batch” are "
        "repeated with each batch of many rows. The second table repeats the two rows, so its compressed sizes are far "
        "smaller than those of a real table; read only its uncompressed rows."
    )
    left_out = (
        "The paper does not describe the messages of DBMS X and Hive exactly enough to count their bytes. DuckDB's "
        "Quack is left out: its messages have the engine's internal serialization, which has no specification."
    )
    draws = partial(draw, rows)
    bars = Plot(f"{MANY_ROWS:,} rows: bytes a row by kind", draws, height=4.2, name="wire_bytes")
    return [Text(about), of_two_rows(rows), Text(left_out), of_many_rows(rows), bars, *dumps(rows)]


def findings(rows: list[Row]) -> list[Finding]:
    small = {row["protocol"]: row for row in sizes(rows, "small") if not row.get("paper")}
    many = {row["protocol"]: row for row in sizes(rows, "many")}
    binary, text = small["PostgreSQL, rows in binary"], small["MariaDB, text"]
    spent = {name: (of_rows(row) or 0) - row["value"] for name, row in small.items()}
    columnar = ["Arrow IPC stream", "Arrow Flight", "colonnade serve, plain"]
    framing = {name: sum(many[name][kind] for kind in ("row", "batch", "padding")) for name in columnar}
    masks = {name: many[name]["null"] * 8 / (many[name]["rows"] * WIDTH) for name in columnar}
    return [
        Finding(
            "PostgreSQL sends more metadata than data for a row: 30 bytes of metadata for 11 bytes of data.",
            f"{spent['PostgreSQL, rows in binary']} bytes of metadata for {binary['value']} bytes of data: "
            f"{binary['row'] / binary['rows']:g} bytes a row and 4 bytes a field. The protocol has not changed.",
            spent["PostgreSQL, rows in binary"] > binary["value"],
        ),
        Finding(
            "MySQL sends one byte for the length of a short value and four bytes a row. One of the four is a packet "
            "number, which is redundant over TCP.",
            f"MariaDB in text sends {text['row'] / text['rows']:g} bytes a row, one byte a value, and one byte a NULL. "
            f"Both rows take {of_rows(text)} bytes; PostgreSQL in text takes "
            f"{of_rows(small['PostgreSQL, rows in text'])}.",
            text["row"] == 4 * text["rows"] and text["length"] == 3,
        ),
        Finding(
            "The metadata of a columnar format do not grow with the number of rows.",
            "; ".join(
                f"{name}: {framing[name] / many[name]['rows']:.2g} bytes a row in {MANY_ROWS:,} rows"
                for name in columnar
            )
            + f". PostgreSQL: {many['PostgreSQL, rows in binary']['row'] / MANY_ROWS:g} bytes a row.",
            all(bytes_ / MANY_ROWS < 1 for bytes_ in framing.values()),
        ),
        Finding(
            "A NULL mask of one byte a value, as in Hive, wastes space.",
            "; ".join(f"{name}: {bits:.2g} bits a value" for name, bits in masks.items())
            + ". These formats have bitmaps, and no bitmap for a column without NULLs.",
            all(bits < 8 for bits in masks.values()),
        ),
    ]


EXPERIMENT = Experiment(
    title="What the bytes of a result are used for",
    source="VLDB 2017, Table 2, Figures 5 to 9",
    question=(
        "What are the bytes of a protocol used for? A proxy between client and server records the paper's small result "
        "in each protocol. Each byte is annotated by the protocol's specification, and the values decoded from the "
        f"bytes are compared with the table. Repeating the rows {TIMES:,} times shows which bytes are sent once."
    ),
    run=run,
    show=show,
    findings=findings,
)
