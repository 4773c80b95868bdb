"""No command shows a password that is in one of its arguments, wherever they stand."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from colonnade import InterfaceError, write_sql
from colonnade._secrets import redacted, secrets, without_logins

PASSWORDS = ["Sesame5/5//5", "Sesame%35%2F5%2f", "Sesame5'\"\\5", "Sesame5@5:5"]
#: Nothing listens there.
URIS = [
    "postgresql://ann:{}@127.0.0.1:1/shop",
    "mysql+pymysql://ann:{}@127.0.0.1:1/shop",
    "jdbc:postgresql://ann:{}@127.0.0.1:1/shop",
    "host=127.0.0.1 port=1 user=ann password={}",
]
#: Each command with the arguments that it takes; URI is one with a password. They are also exchanged.
COMMANDS: list[Sequence[str]] = [
    ("read", "URI", "select 1"),
    ("read", "URI", "select 1", "-o", "result.parquet"),
    ("read", "URI", "select 1", "--dtype", "a"),
    ("write", "missing.parquet", "URI", "orders"),
    ("copy", "URI", "select 1", "URI", "orders"),
    ("tables", "URI"),
    ("schema", "URI", "orders"),
    ("bench", "URI", "select 1", "--clients", "colonnade"),
    ("doctor", "URI", "--timeout", "5"),
    ("demo", "URI"),
    ("serve", "URI", "--listen", "127.0.0.1:0"),
    ("serve", "--source", "URI", "--listen", "127.0.0.1:0"),
    ("user", "list", "--users", "URI"),
    ("user", "remove", "URI", "--users", "missing"),
    ("udf", "list", "--uri", "URI"),
    ("udf", "pull", "URI", "--uri", "URI", "--dir", "URI"),
    ("udf", "push", "URI"),
    ("udf", "run", "URI", "--sql", "select 1"),
    ("udf", "key", "URI"),
    ("udf", "trust", "URI"),
    ("ml", "install", "URI"),
    ("ml", "list", "URI", "--schema", "URI"),
    ("adbc", "install", "--library", "URI"),
    ("completion", "URI"),
    ("URI",),
    ("read", "URI", "select 1", "orders", "--password", "URI"),
]


def arrangements(command: Sequence[str]) -> list[list[str]]:
    """The command as it is, and with its arguments exchanged."""
    name = command[: 2 if command[0] in ("user", "udf", "ml", "adbc") else 1]
    others = command[len(name) :]
    return [[*name, *order] for order in dict.fromkeys(itertools.permutations(others[:4]))][:6]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_no_command_shows_a_password(tmp_path: Path, command: Sequence[str]) -> None:
    """In this process, as the command is started many times; standard error is that of the process."""
    program = """
import contextlib, json, sys, traceback
from colonnade._cli.main import main
for arguments in json.load(sys.stdin):
    try:
        with contextlib.redirect_stdout(sys.__stdout__):
            print("status", main(arguments))
    except SystemExit as end:
        print(end.code, file=sys.stderr)
    except Exception:
        traceback.print_exc()
    sys.stderr = sys.__stderr__
"""
    given = [uri.format(password) for uri, password in zip(URIS, PASSWORDS, strict=True)]
    cases = [
        [*option, *(argument.replace("URI", uri) for argument in order)]
        for order in arrangements(command)
        for uri, option in zip(given, ([], ["-v"], [], []), strict=True)
    ]
    done = subprocess.run(
        [sys.executable, "-c", program],
        input=json.dumps(cases),
        capture_output=True,
        text=True,
        cwd=tmp_path,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "Sesame" not in done.stdout + done.stderr, [
        line for line in (done.stdout + done.stderr).splitlines() if "Sesame" in line
    ][:5]
    assert len(done.stderr.splitlines()) >= len(cases)


def test_an_uri_in_place_of_data_is_not_shown_by_the_package() -> None:
    uri = URIS[0].format(PASSWORDS[0])
    with pytest.raises(InterfaceError) as caught:
        write_sql(uri, "orders", "sqlite:")
    assert "Sesame" not in str(caught.value) and caught.value.__suppress_context__
    assert "ann:***@" in str(caught.value)
    assert "Sesame" not in str(InterfaceError(f"no table {uri!r}", detail=uri, hint=f"as in {uri}"))


@pytest.mark.parametrize(
    "text",
    [
        "no server at postgresql://127.0.0.1:5432/shop for ann@example.org",
        "https://example.org:8080",
        "https://example.org/a@b",
        "C:/data, and ann@example.org",
        "time: 10:30, ann@example.org",
    ],
)
def test_a_text_without_a_password_stays(text: str) -> None:
    assert without_logins(text) == text


def test_a_password_of_few_letters_does_not_garble_a_message() -> None:
    hidden = secrets({"uri": "postgresql://ann:a@127.0.0.1/shop"})
    assert redacted("no table at a place, near ann:a@127", hidden) == "no table at *** place, near ann:***@127"


def test_long_texts_of_a_server_are_read_once() -> None:
    """A line is searched once, however many beginnings of URIs it has."""
    line = "://a/" * 200_000
    assert without_logins(f"{line}://a:x@\n{line}") == f"{line}://a:***@\n{line}"
