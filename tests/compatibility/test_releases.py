"""Each release's recorded client, server and extension, with today's server, extension and client, and its vectors."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compatibility.conversation import converse
from tests.compatibility.recording import (
    Mismatch,
    Recording,
    Turn,
    meaning,
    messages,
    parameters,
    replay_client,
    replay_server,
)
from tests.compatibility.stored import CHANGES, FIRST, NAMES, RELEASES, save, text
from tests.testbed import postgres as pg
from tests.testbed.serving import Server, serve
from tools.release import publish

VECTORS = Path(__file__).parents[2] / "spec/vectors"
FOLDERS = sorted(path for path in RELEASES.iterdir() if path.is_dir())
#: What a server announces about the format, as a number that never becomes lower.
ANNOUNCED = ("colonnade", "colonnade.version", "colonnade.receive")

each_release = pytest.mark.parametrize("release", FOLDERS, ids=lambda path: path.name)


@pytest.fixture(scope="module")
def own() -> Iterator[Server]:
    """A server of its own, because the conversation makes a table and lists the tables."""
    with serve() as running:
        yield running


@pytest.fixture(scope="module")
def own_cluster(installation: pg.Installation) -> Iterator[pg.Cluster]:
    """A cluster of its own with the extension, for the same reason."""
    with pg.extended(installation) as running:
        yield running


def check(recording: Recording, target: tuple[str, int]) -> None:
    """The server answers the recorded client as the recorded server did."""
    answers = list(replay_client(recording, target))
    assert len(answers) > 10
    (first, welcome), *rest = answers
    before, now = parameters(first.server), parameters(welcome)
    for name in ANNOUNCED:
        assert int(now.get(name, 0)) >= int(before.get(name, 0)), name
    for turn, answer in rest:
        assert meaning(answer) == meaning(turn.server), turn.client[:200]


def test_there_is_a_recording() -> None:
    assert FIRST in FOLDERS


@each_release
def test_a_recording_is_what_was_recorded(release: Path) -> None:
    """Later releases are kept as what differs from the first, with the digest of the whole."""
    for name in NAMES:
        assert text(release, name).endswith("\n")


def test_a_release_waits_for_the_file_that_is_read_here() -> None:
    assert publish.RECORDED == CHANGES
    assert RELEASES.relative_to(Path(__file__).parents[2]).as_posix() == publish.RECORDINGS
    for release in FOLDERS:
        assert {path.name for path in release.iterdir()} == (set(NAMES) if release == FIRST else {CHANGES})


def test_a_recording_that_was_changed_is_refused(tmp_path: Path) -> None:
    whole = {name: text(FIRST, name) for name in NAMES}
    whole["serve.json"] = whole["serve.json"].replace("id: int64", "id: int32", 1)
    save(tmp_path / "later", whole)
    assert text(tmp_path / "later", "serve.json") == whole["serve.json"]
    kept = tmp_path / "later" / CHANGES
    kept.write_text(kept.read_text().replace("id: int32", "id: int16"))
    with pytest.raises(ValueError, match=r"serve\.json of later is not what was recorded"):
        text(tmp_path / "later", "serve.json")


@each_release
def test_an_old_client_and_the_server(release: Path, own: Server) -> None:
    assert own.host is not None and own.port is not None
    check(Recording.of_text(text(release, "serve.json")), (own.host, own.port))


@each_release
def test_an_old_client_and_the_extension(release: Path, own_cluster: pg.Cluster) -> None:
    check(Recording.of_text(text(release, "postgres.json")), ("127.0.0.1", own_cluster.port))


@each_release
@pytest.mark.parametrize("server", ["serve", "postgres"])
def test_the_client_and_an_old_server(release: Path, server: str) -> None:
    recording = Recording.of_text(text(release, f"{server}.json"))
    database = "test" if server == "serve" else "postgres"
    with replay_server(recording) as port:
        seen = converse(f"postgresql://tester@127.0.0.1:{port}/{database}")
    assert seen == recording.seen


@each_release
def test_the_vectors_of_a_release_stay(release: Path) -> None:
    """`make test-spec` and the Rust decoder read all of them; here, none has changed or is gone."""
    lines = text(release, "vectors.sha256").splitlines()
    assert len(lines) > 100
    for line in lines:
        digest, name = line.split("  ")
        assert hashlib.sha256((VECTORS / name).read_bytes()).hexdigest() == digest, name


# --- the tests can fail -----------------------------------------------------------------------------------------------


def changed(recording: Recording, *, old: bytes, new: bytes, of_client: bool) -> Recording:
    """A recording with other bytes of the same length."""
    assert len(old) == len(new)
    turns = [
        [
            Turn(turn.client.replace(old, new), turn.server)
            if of_client
            else Turn(turn.client, turn.server.replace(old, new))
            for turn in connection
        ]
        for connection in recording.connections
    ]
    return Recording(recording.about, recording.seen, turns)


def test_other_values_are_found(own: Server) -> None:
    recording = Recording.of_text(text(FIRST, "serve.json"))
    other = changed(recording, old=b"i % 13", new=b"i % 12", of_client=True)
    assert own.host is not None and own.port is not None
    answers = replay_client(other, (own.host, own.port))
    assert any(meaning(answer) != meaning(turn.server) for turn, answer in answers)


def test_a_statement_that_the_old_server_did_not_get_is_found() -> None:
    recording = Recording.of_text(text(FIRST, "serve.json"))
    other = changed(recording, old=b"version 1)", new=b"version 2)", of_client=True)
    with pytest.raises(Mismatch), replay_server(other) as port:
        converse(f"postgresql://tester@127.0.0.1:{port}/test")


def test_messages_are_whole() -> None:
    with pytest.raises(AssertionError, match="cut off"):
        messages(b"Z\0\0\0\5")
