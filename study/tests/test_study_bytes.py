"""The bytes of results: recorded between real clients and servers, annotated to the last one, refused when broken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from study import report, wire_bytes
from study.experiment import SIZES, Context, Row
from study.pieces import Annotated, Malformed, Piece, Place, Reader, check, spread
from study.wire_servers import TABLES, VALUES, Answer, Way, all_of_them

NAMES = [
    "PostgreSQL, rows in text",
    "PostgreSQL, rows in binary",
    "PostgreSQL, COPY binary",
    "PostgreSQL, Colonnade plain",
    "PostgreSQL, Colonnade light",
    "MariaDB, text",
    "MariaDB, binary",
    "MariaDB, text, compressed",
    "Arrow IPC stream",
    "Arrow Flight",
    "colonnade serve, plain",
    "colonnade serve, light",
]


@pytest.fixture(scope="module")
def ways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Way]]:
    with all_of_them(tmp_path_factory.mktemp("bytes")) as found:
        yield {way.name: way for way in found}


@pytest.fixture(scope="module")
def answers(ways: dict[str, Way]) -> dict[str, Answer]:
    return {name: way.read("small") for name, way in ways.items()}


@pytest.fixture(scope="module")
def rows(tmp_path_factory: pytest.TempPathFactory) -> list[Row]:
    context = Context(SIZES["tiny"], "", Path(), tmp_path_factory.mktemp("study"))
    return wire_bytes.EXPERIMENT.run(context)


def refused(answer: Answer, data: bytes) -> bool:
    """Whether the annotator refuses the bytes, or reads other rows out of them."""
    try:
        return answer.annotate(data).rows != VALUES
    except Malformed:
        return True


def test_every_protocol_is_recorded(ways: dict[str, Way]) -> None:
    assert list(ways) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_every_byte_is_annotated_once(answers: dict[str, Answer], name: str) -> None:
    answer = answers[name]
    annotated = answer.annotate(answer.data)
    check(annotated, answer.data)
    assert annotated.rows == VALUES


@pytest.mark.parametrize("name", NAMES)
def test_a_large_answer_too(ways: dict[str, Way], name: str) -> None:
    answer = ways[name].read("many")
    annotated = answer.annotate(answer.data)
    check(annotated, answer.data)
    assert Counter(annotated.rows) == Counter(dict.fromkeys(VALUES, TABLES["many"]))


@pytest.mark.parametrize("name", NAMES)
def test_an_answer_that_is_cut_or_goes_on_is_refused(answers: dict[str, Answer], name: str) -> None:
    answer = answers[name]
    for length in range(len(answer.data)):
        with pytest.raises(Malformed):
            answer.annotate(answer.data[:length])
    with pytest.raises(Malformed):
        answer.annotate(answer.data + b"\0")


@pytest.mark.parametrize("name", NAMES)
def test_no_broken_byte_of_a_row_goes_unseen(answers: dict[str, Answer], name: str) -> None:
    answer = answers[name]
    pieces = [piece for piece in answer.annotate(answer.data).pieces if piece.kind in ("row", "length", "null")]
    pieces += [piece for piece in answer.annotate(answer.data).pieces if piece.kind == "compressed"]
    assert pieces
    for piece in pieces:
        for at in range(piece.offset, piece.offset + len(piece.bytes)):
            broken = answer.data[:at] + bytes([answer.data[at] ^ 0xFF]) + answer.data[at + 1 :]
            assert refused(answer, broken), f"byte {at}, {piece.what}"


BROKEN = [
    ("PostgreSQL, rows in binary", "number of fields", "fields in 2 columns"),
    ("PostgreSQL, rows in text", "message type D", "a message of type"),
    ("PostgreSQL, COPY binary", "signature", "signature"),
    ("PostgreSQL, Colonnade plain", "message 1 (chunk): magic", "magic"),
    ("colonnade serve, light", "checksum", "checksum"),
    ("MariaDB, text", "packet number", "instead of"),
    ("MariaDB, binary", "header of a row", "header of a row"),
    ("MariaDB, text, compressed", "compressed packet's number", "instead of"),
    ("Arrow IPC stream", "continuation", "continuation"),
    ("Arrow Flight", "gRPC: not compressed", "gRPC: not compressed"),
    ("Arrow Flight", "SETTINGS frame", "need"),
]


@pytest.mark.parametrize(("name", "what", "reason"), BROKEN)
def test_what_is_broken_is_named(answers: dict[str, Answer], name: str, what: str, reason: str) -> None:
    answer = answers[name]
    at = next(piece.offset for piece in answer.annotate(answer.data).pieces if piece.what.startswith(what))
    with pytest.raises(Malformed, match=reason):
        answer.annotate(answer.data[:at] + bytes([answer.data[at] ^ 0xFF]) + answer.data[at + 1 :])


@pytest.mark.parametrize("size", [1, 3, 1000])
def test_a_stream_may_be_cut_into_messages_anywhere(answers: dict[str, Answer], size: int) -> None:
    """COPY's data come as the server cuts them, which need not be by rows."""
    answer = answers["PostgreSQL, COPY binary"]
    begin = answer.data.index(b"d\0")
    end = answer.data.index(b"c\0\0\0\4")
    stream, at = b"", begin
    while at < end:
        length = int.from_bytes(answer.data[at + 1 : at + 5], "big")
        stream += answer.data[at + 5 : at + 1 + length]
        at += 1 + length
    parts = [stream[at : at + size] for at in range(0, len(stream), size)]
    messages = b"".join(b"d" + (len(part) + 4).to_bytes(4, "big") + part for part in parts)
    data = answer.data[:begin] + messages + answer.data[end:]
    annotated = answer.annotate(data)
    check(annotated, data)
    assert annotated.rows == VALUES


def test_pieces_of_a_stream_are_spread_over_its_messages() -> None:
    stream = [Piece(0, b"abc", "letters", "value"), Piece(3, b"12", "digits", "length")]
    places = [Place(10, 2, range(0)), Place(20, 0, range(0)), Place(30, 3, range(0))]
    assert spread(stream, places) == [
        [Piece(10, b"ab", "letters", "value")],
        [],
        [Piece(30, b"c", "letters, continued", "value"), Piece(31, b"12", "digits", "length")],
    ]


def test_an_annotation_with_a_hole_is_refused() -> None:
    for pieces in ([], [Piece(0, b"a", "", "value")], [Piece(1, b"b", "", "value")], [Piece(0, b"ba", "", "value")]):
        with pytest.raises(Malformed):
            check(Annotated(pieces, []), b"ab")


def test_a_message_is_used_up() -> None:
    reader = Reader(b"abcd")
    with pytest.raises(Malformed, match="1 bytes are left over of a message"), reader.within(2, "a message"):
        reader.take(1, "letter", "value")


def test_compressed_bytes_are_shown_decompressed(answers: dict[str, Answer]) -> None:
    plain = answers["MariaDB, text"]
    packed = answers["MariaDB, text, compressed"].annotate(answers["MariaDB, text, compressed"].data)
    assert any(piece.kind == "compressed" for piece in packed.pieces)
    assert [piece.what for piece in packed.inside] == [piece.what for piece in plain.annotate(plain.data).pieces]


def test_the_papers_counts_are_found_again(rows: list[Row]) -> None:
    """The protocols have not changed since 2017: the same rows take the same bytes."""
    taken = {row["protocol"]: wire_bytes.of_rows(row) for row in wire_bytes.sizes(rows, "small")}
    assert taken["PostgreSQL, rows in binary"] == taken["PostgreSQL, COPY binary"] == taken["PostgreSQL"] == 41
    assert taken["MariaDB, text"] == taken["MySQL"] == 28
    assert taken["MonetDB"] == 34
    assert taken["Hive"] is None
    assert taken[wire_bytes.IN_PROCESS] == 0


def test_what_is_measured_is_in_the_order_that_must_hold(rows: list[Row]) -> None:
    small = {row["protocol"]: row for row in wire_bytes.sizes(rows, "small") if not row.get("paper")}
    many = {row["protocol"]: row["bytes"] for row in wire_bytes.sizes(rows, "many")}
    assert set(small) == set(many) == {*NAMES, wire_bytes.IN_PROCESS}
    assert many["colonnade serve, light"] < many["colonnade serve, plain"] < many["PostgreSQL, rows in binary"]
    assert many["Arrow IPC stream"] < many["Arrow Flight"] < many["PostgreSQL, rows in text"]
    assert many["MariaDB, text, compressed"] < many["MariaDB, text"] < many["PostgreSQL, rows in text"]
    for name in ("PostgreSQL, rows in text", "PostgreSQL, rows in binary", "MariaDB, text"):
        assert small[name]["value"] == {"PostgreSQL, rows in binary": 11}.get(name, 16)
    for row in small.values():
        pieces = [one for one in rows if one["part"] == "piece" and one["protocol"] == row["protocol"]]
        assert sum(len(one["hex"]) // 2 for one in pieces if not one["inside"]) == row["bytes"]


def test_it_is_shown(rows: list[Row], tmp_path: Path) -> None:
    facts = {"size": "tiny", "seconds": 1.0, "machine": {"Machine": "this one"}}
    measured = [(wire_bytes.EXPERIMENT, {"experiment": "wire_bytes", "rows": rows, **facts})]
    text = report.write(tmp_path, measured).read_text()
    assert all(f"{name}:" in text for name in NAMES)
    assert "PostgreSQL (paper)" in text
    assert (tmp_path / "wire_bytes.svg").exists()
    assert {finding.holds for finding in wire_bytes.EXPERIMENT.findings(rows)} == {True}
