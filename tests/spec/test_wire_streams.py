"""What the Rust encoder makes, read by the independent reader of the specification: every type, configuration, NULL
layout and encoding. The expected values come from the columns before they were encoded."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from reader import codecs
from reader.check import canonical
from reader.nodes import NAMES, NULLS
from reader.stream import Stream, read_stream

from tests.support.examples import example

CONFIGS = ["plain", "light", "light+fsst", "light+lz4", "light+zstd-1"]
CODECS = {"light+lz4": {0, 1}, "light+zstd-1": {0, 2}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The streams, NAME.bin, and what they mean, NAME.json."""
    folder = tmp_path_factory.mktemp("streams")
    subprocess.run([example("write_streams"), folder], check=True)
    return folder


@pytest.fixture(scope="module")
def streams(folder: Path) -> dict[str, Stream]:
    """Every stream as the independent reader reads it."""
    if codecs.std_zstd is None and codecs.zstandard is None:
        # Before Python 3.14 the reader needs a package for Zstandard; pyarrow, which the tests need anyway, has it too.
        pyarrow = pytest.importorskip("pyarrow")

        def zstd_frame(stored: bytes, length: int, where: str) -> bytes:
            return pyarrow.decompress(stored, length, "zstd", asbytes=True)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(codecs, "zstd_frame", zstd_frame)
            return read_all(folder)
    return read_all(folder)


def read_all(folder: Path) -> dict[str, Stream]:
    return {path.stem: read_stream(path.read_bytes()) for path in sorted(folder.glob("*.bin"))}


def nodes(stream: Stream) -> set[tuple[str, str, str]]:
    """The heading, the encoding and the NULLs of each node, from the reader's trace."""
    found = set[tuple[str, str, str]]()
    for message in stream.messages:
        notes = [text for _, size, text in message.trace if size == 0]
        for heading, text in pairwise(notes):
            if heading.startswith("node: ") and text.startswith("^ "):
                encoding, nulls = text.removeprefix("^ ").split(", ", 1)
                found.add((heading.removeprefix("node: "), encoding, nulls))
    return found


def test_the_reader_reads_what_was_encoded(folder: Path, streams: dict[str, Stream]) -> None:
    assert len(streams) > 40
    different: list[str] = []
    for name, stream in streams.items():
        expected: dict[str, Any] = json.loads((folder / f"{name}.json").read_text("utf-8"))
        if canonical(stream.to_json()) != canonical(expected):
            different.append(name)
    assert not different


def test_every_encoding_and_null_layout_occurs(streams: dict[str, Stream]) -> None:
    found = set[tuple[str, str, str]]().union(*map(nodes, streams.values()))
    assert {encoding for _, encoding, _ in found} == set(NAMES)
    assert {nulls for _, _, nulls in found} == set(NULLS)
    # Of each width but 4, which only dictionaries beyond 65536 entries have.
    assert any(heading.startswith("codes, integer 1") for heading, _, _ in found)
    assert any(heading.startswith("codes, integer 2") for heading, _, _ in found)


def test_every_size_and_type_occurs(streams: dict[str, Stream]) -> None:
    sizes = {rows for stream in streams.values() for rows in stream.chunks}
    assert {0, 1, 1023, 1024, 1025, 5000} <= sizes
    assert max(len(stream.chunks) for stream in streams.values()) > 1
    types = {field.type for field in streams["types_plain"].fields}
    assert len(types) == 37


@pytest.mark.parametrize("config", CONFIGS)
def test_a_configuration_is_kept_to(config: str, streams: dict[str, Stream]) -> None:
    stream = streams[f"types_{config}"]
    codecs_used = {message.codec for message in stream.messages}
    encodings = {encoding for _, encoding, _ in nodes(stream)}
    assert codecs_used <= CODECS.get(config, {0})
    assert max(codecs_used) == max(CODECS.get(config, {0}))
    assert (encodings == {"plain"}) == (config == "plain")
    assert ("fsst" in encodings) == (config == "light+fsst")
