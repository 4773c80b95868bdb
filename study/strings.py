"""Tables 8 and 9: layouts of text."""

from __future__ import annotations

from study import encodings
from study.encodings import COMPUTED, bytes_per_row, named, one, ours, seconds, values
from study.experiment import Context, Experiment, Finding, Part, Row, Table, Text

#: Tables 8 and 9: seconds without and with Snappy, MB, and the ratio of Snappy.
PAPER = encodings.papers(
    ("column", "layout", "seconds", "snappy_seconds", "megabytes", "ratio"),
    [
        ("l_returnflag", "varint prefix", 3.94, 3.99, 114.54, 3.37),
        ("l_returnflag", "null-terminated", 3.95, 3.91, 114.54, 3.37),
        ("l_returnflag", "VARCHAR(1)", 3.68, 3.76, 57.34, 2.84),
        ("l_comment", "null-terminated", 4.12, 6.09, 1_530, 2.44),
        ("l_comment", "varint prefix", 4.24, 6.63, 1_530, 2.27),
        ("l_comment", "VARCHAR(44)", 4.15, 7.66, 2_460, 3.12),
        ("l_comment", "VARCHAR(100)", 5.07, 10.13, 5_590, 5.69),
        ("l_comment", "VARCHAR(1000)", 16.71, 26.30, 55_900, 15.32),
        ("l_comment", "VARCHAR(10000)", 171.55, 216.23, 559_010, 20.19),
    ],
)


def run(context: Context) -> list[Row]:
    return [*encodings.measured(context, "strings", {"lineitem": context.size.rows}), *PAPER]


def ratio(rows: list[Row], column: str, layout: str) -> float:
    """The compression ratio of Snappy."""
    none, snappy = (bytes_per_row(one(rows, column=column, layout=layout, codec=codec)) for codec in ("none", "Snappy"))
    return none / snappy


def lines(rows: list[Row], column: str) -> list[list[str | float | int | None]]:
    found: list[list[str | float | int | None]] = []
    for row in ours(rows, column=column):
        if row["codec"] == "Snappy":
            continue
        line: list[str | float | int | None] = [named(row), seconds(row), None, bytes_per_row(row), None]
        if snappy := ours(rows, column=column, layout=row["layout"], codec="Snappy"):
            line[2], line[4] = seconds(snappy[0]), ratio(rows, column, row["layout"])
        paper = encodings.theirs(rows, column=column, layout=row["layout"]) if row["codec"] == "none" else []
        names = ("seconds", "snappy_seconds", "megabytes", "ratio")
        found.append([*line, *([paper[0][name] for name in names] if paper else [None] * len(names))])
    return found


def show(rows: list[Row]) -> list[Part]:
    columns = ["", "s", "s, Snappy", "bytes/row", "ratio of Snappy"]
    columns += ["s (paper)", "s, Snappy (paper)", "MB (paper)", "ratio (paper)"]
    return [
        *(
            Table(f"{column}: seconds for a million rows, and bytes", columns, lines(rows, column))
            for column in values(rows, "column")
        ),
        Text(
            f"{COMPUTED} The paper's seconds are for 60 million rows and include a socket. Messages have about 4 MB. "
            "Very wide layouts are measured on fewer rows."
        ),
    ]


def findings(rows: list[Row]) -> list[Finding]:
    def time(column: str, layout: str) -> float:
        return seconds(one(rows, column=column, layout=layout, codec="none"))

    def size(column: str, layout: str) -> float:
        return bytes_per_row(one(rows, column=column, layout=layout, codec="none"))

    flag, comment = "l_returnflag", "l_comment"
    ended, prefixed, light = "null-terminated", "varint prefix", "Colonnade light"
    narrow = {layout: time(flag, layout) for layout in (ended, prefixed, "VARCHAR(1)")}
    alike = [time(comment, layout) / time(comment, ended) for layout in (prefixed, "VARCHAR(44)")]
    wide = time(comment, "VARCHAR(10000)") / time(comment, ended)
    ours_flag, ours_comment = (size(column, light) / size(column, ended) for column in (flag, comment))
    fsst = size(comment, "Colonnade light+fsst") / size(comment, ended)
    return [
        Finding(
            "For a column of one character, a fixed width is best: half the bytes, and 0.93 of the time.",
            f"{size(flag, 'VARCHAR(1)') / size(flag, ended):.2f} of the bytes and "
            f"{narrow['VARCHAR(1)'] / narrow[ended]:.2f} of the time of null-terminated strings. Light encodings use "
            f"a dictionary: {ours_flag:.2f} of the bytes, {time(flag, light) / narrow[ended]:.2f} of the time.",
            min(narrow, key=narrow.__getitem__) == "VARCHAR(1)",
        ),
        Finding(
            "For longer text all layouts take the same time within 3 %.",
            f"l_comment, time relative to null-terminated text: a varint prefix {alike[0]:.2f}, VARCHAR(44) "
            f"{alike[1]:.2f}, offsets as in Arrow {time(comment, 'offsets (Arrow)') / time(comment, ended):.2f}.",
            all(0.8 < value < 1.25 for value in alike),
        ),
        Finding(
            "Unused declared width takes time: VARCHAR(10000) takes 42 times as long.",
            f"{wide:.0f} times as long.",
            wide > 10,
        ),
        Finding(
            "Null-terminated text compresses better than text with lengths (ratio of Snappy: 2.44 and 2.27), and "
            "should be used.",
            f"The ratios are {ratio(rows, comment, ended):.2f} and {ratio(rows, comment, prefixed):.2f}. Light "
            "encodings store the lengths apart from the text. Relative to null-terminated text without a codec, they "
            f"take {ours_comment:.2f} of the bytes ({fsst:.2f} with FSST) and "
            f"{time(comment, light) / time(comment, ended):.2f} of the time.",
            ratio(rows, comment, ended) > ratio(rows, comment, prefixed),
        ),
    ]


EXPERIMENT = Experiment(
    title="Text",
    source="VLDB 2017, Tables 8 and 9",
    question=(
        "How should text be encoded: with a length before it, with a zero byte after it, in cells of a fixed width, or "
        "as offsets and bytes? The layouts are measured on lineitem's column of one character and on its comments."
    ),
    run=run,
    show=show,
    findings=findings,
)
