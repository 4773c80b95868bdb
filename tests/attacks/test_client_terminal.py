"""Text of a server on a terminal: errors, names of columns, values, versions."""

from __future__ import annotations

import subprocess
import sys
import traceback

import colonnade
import pyarrow as pa
import pytest

from tests.support.proxy import READY, WELCOME, message, peer

#: Sets the title, clears the screen, moves the cursor, in 8 bits, and turns the direction of text.
EVIL = "\x1b]0;mine\x07\x1b[2J\x1b[1;1H\x9b31m\u202egnp\u2066\r\x00\x7f"
STEERING = [*map(chr, range(32)), *map(chr, range(127, 160)), "\u202e", "\u2066"]
for _kept in "\n\t":
    STEERING.remove(_kept)


def error(text: str) -> bytes:
    evil = text.replace("\0", "").encode()
    fields = b"".join(kind + evil + b"\0" for kind in (b"M", b"D", b"H"))
    return message(b"E", b"SERROR\0C42601\0" + fields + b"\0")


def steers(text: str) -> bool:
    return any(letter in text for letter in STEERING)


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "colonnade", *arguments], capture_output=True, text=True, check=False, timeout=120
    )


def test_exceptions_show_what_would_steer_a_terminal() -> None:
    with (
        peer(WELCOME, error(EVIL) + READY) as uri,
        colonnade.connect(uri) as connection,
        pytest.raises(colonnade.ProgrammingError) as caught,
    ):
        connection.query("x").to_arrow()
    raw = EVIL.replace("\0", "")
    assert (caught.value.message, caught.value.detail, caught.value.hint) == (raw, raw, raw)
    shown = str(caught.value)
    assert not steers(shown)
    assert "\\x1b]0;mine\\x07" in shown
    assert "\\x9b31m\\u{202e}gnp" in shown
    assert "\nDetail: " in shown
    assert not steers("".join(traceback.format_exception(caught.value)))
    assert not steers(repr(caught.value))


def test_errors_within_arrow_streams_do_too(uri: str) -> None:
    sql = "select case when i = 50000 then error(chr(27) || '[2J') else i end as n from range(100000) r(i)"
    with colonnade.connect(uri) as connection, pytest.raises((pa.ArrowException, OSError, colonnade.Error)) as caught:
        pa.RecordBatchReader.from_stream(connection.query(sql, chunk_rows=100)).read_all()
    assert "[2J" in str(caught.value)
    assert not steers(str(caught.value))


@pytest.mark.parametrize("verbose", [(), ("-v",)])
def test_the_command_line_shows_them(verbose: tuple[str, ...]) -> None:
    with peer(WELCOME, error(EVIL) + READY) as uri:
        done = run(*verbose, "read", uri, "x")
    assert done.returncode == 1
    assert "\\x1b]0;mine" in done.stderr
    assert not steers(done.stderr + done.stdout)


def test_names_values_and_versions_on_the_terminal(uri: str) -> None:
    name = EVIL.replace("\0", "")
    done = run("-v", "read", uri, f"select '{name}' as \"{name}\"")
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\\x1b]0;mine") == 2
    assert not steers(done.stdout + done.stderr)
