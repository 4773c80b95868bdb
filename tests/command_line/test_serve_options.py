"""Wrong options of `colonnade serve`: an error that names the option and says what to write."""

from __future__ import annotations

import pytest

from tests.command_line.commands import run


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--max-connections", "-3"), "--max-connections: '-3' is not such a number: write a whole number from 0 on"),
        (("--max-user-connections", "2.5"), "--max-user-connections: '2.5' is not such a number"),
        (("--max-address-logins", "99999999999"), "--max-address-logins: '99999999999' is not such a number"),
        (("--threads", "0"), "--threads: '0' is not such a number: write a whole number from 1 on"),
        (("--statement-timeout", "nan"), "--statement-timeout: 'nan' is not a time: write seconds from 0 on"),
        (("--grace", "-1"), "--grace: '-1' is not a time"),
        (("--encode-cpu", "2"), "--encode-cpu: '2' is not a share: write a number from 0 to 1"),
        (("--max-result-bytes", "5XB"), "--max-result-bytes: '5XB' is not a size: write one such as 10GB"),
        (("--max-session-memory=-1GB",), "--max-session-memory: '-1GB' is not a size"),
        (("--spool-size", "inf"), "--spool-size: 'inf' is not a size"),
        (("--temp-size", "1e400"), "--temp-size 1e400 is not a size"),
        # Unset variables of a script. Without the check, the first one is a database in memory.
        (("",), "FILE.duckdb is empty"),
        (("--temp-directory", ""), "--temp-directory is empty"),
        (("--spool-directory", ""), "--spool-directory is empty"),
        (("--listen", "", "--unix", "/nowhere/socket"), "--listen is empty"),
    ],
)
def test_wrong_options_are_refused(arguments: tuple[str, ...], message: str) -> None:
    done = run("serve", *arguments, *(() if "--listen" in arguments else ("--listen", "127.0.0.1:0")), timeout=20)
    assert done.returncode != 0
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_sizes_of_other_commands_are_refused_so_too() -> None:
    assert "'1e400' is not a size" in run("read", "sqlite:", "select 1", "--max-result-bytes", "1e400").stderr
