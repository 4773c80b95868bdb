"""Few bytes that become many: chunks, rows and results that are larger than what was asked for."""

from __future__ import annotations

import struct

import colonnade
import psycopg
import pytest

from tests.attacks.talks import Client, own_client
from tests.support.proxy import COPY_OUT, READY, WELCOME, message, peer
from tests.testbed import postgres as pg
from tests.testbed.serving import Server

MB = 1 << 20
#: Bytes of memory for a client with a few chunks and pyarrow.
ROOM = 500 * MB
#: The most that can be asked for.
ALL = "chunk_rows 16777216, chunk_bytes 2147483584"
STRUCT = "{'a': {'b': 7::hugeint, 'c': 'text'}}"

BOMBS = {
    "rows of one value": ("select 7 as i from range(3000000)", "compression 'light'"),
    "rows of nothing but NULL": ("select null::bigint as i from range(3000000)", "compression 'light'"),
    "one long text": ("select repeat('x', 2000) as t from range(60000)", "compression 'light'"),
    "two texts": ("select repeat(if(i % 2 = 0, 'a', 'b'), 2000) as t from range(60000) t(i)", "compression 'light'"),
    "text under FSST": ("select repeat('abcdefgh', 250) || i as t from range(60000) r(i)", "compression 'light+fsst'"),
    "zeros under Zstandard": ("select repeat('x', 2000) as t from range(60000)", "compression 'plain+zstd-1'"),
    "zeros under LZ4": ("select repeat('x', 2000) as t from range(60000)", "compression 'plain+lz4'"),
    "plain bytes": ("select repeat('x', 2000) as t from range(60000)", "compression 'plain'"),
    "lists of one value": ("select list_resize([7], 200, 7) as l from range(60000)", "compression 'light'"),
    "structs of one value": (
        f"select {', '.join(f'{STRUCT} as s{n}' for n in range(40))} from range(60000)",
        "compression 'light'",
    ),
    "many columns": (
        f"select {', '.join(f'7 as c{n}' for n in range(300))} from range(60000)",
        "compression 'light'",
    ),
}  # fmt: skip


client = pytest.fixture(own_client)


def stream(server: Server, sql: str, options: str) -> tuple[list[bytes], bytes]:
    """The messages that a true server sends to who asks for chunks of any size, and its tag."""
    with psycopg.connect(server.dsn) as connection, connection.cursor() as cursor:
        with cursor.copy(f"copy ({sql}) to stdout (format colonnade, {ALL}, {options})".encode()) as copy:
            payloads = [bytes(data) for data in copy]
        return payloads, f"COPY {cursor.rowcount}".encode()


def answer(payloads: list[bytes], tag: bytes) -> bytes:
    data = b"".join(message(b"d", payload) for payload in payloads)
    return COPY_OUT + data + message(b"c") + message(b"C", tag + b"\0") + READY


@pytest.mark.parametrize("name", BOMBS)
def test_a_chunk_above_what_was_asked_for_is_refused(server: Server, client: Client, name: str) -> None:
    payloads, tag = stream(server, *BOMBS[name])
    decoded = client.peak
    with peer(WELCOME, answer(payloads, tag)) as uri:
        refused = client.read(uri, "x")
        assert refused["error"] == "InternalError", refused
        assert "requested" in refused["text"], refused
        assert client.peak - decoded < ROOM
    # Whoever asks for such chunks gets them.
    rows = int(tag.split()[1])
    with peer(WELCOME, answer(payloads, tag)) as uri:
        assert client.read(uri, "x", chunk_rows=16777216, chunk_bytes=2147483584) == {"rows": rows}


def test_a_single_row_may_be_larger(server: Server, client: Client) -> None:
    uri = f"postgresql://tester@{server.host}:{server.port}/test"
    for sql in ("select repeat('x', 20000000) as t from range(2)", "select range(3000000) as l from range(2)"):
        assert len(client.read(uri, sql, chunk_bytes=1000)["rows"]) == 2


def test_rows_without_bytes_are_no_bomb(server: Server, client: Client) -> None:
    uri = f"postgresql://tester@{server.host}:{server.port}/test"
    columns = ", ".join(f"null as c{number}" for number in range(300))
    assert client.read(uri, f"select {columns} from range(200000)") == {"rows": 200000}
    assert client.read(uri, "select {'a': null, 'b': {'c': null}} as s from range(200000)") == {"rows": 200000}


@pytest.mark.parametrize("length", [17 * MB, 1 << 30])
def test_a_message_that_is_no_chunk_of_one_row_has_a_bound(server: Server, client: Client, length: int) -> None:
    schema, chunk, *_ = stream(server, "select i from range(3) r(i)", "compression 'light'")[0]
    for header in (schema, chunk):
        said = COPY_OUT + message(b"d", schema) + b"d" + struct.pack(">I", length) + header
        before = client.peak
        with peer(WELCOME, said, hang_up=False) as uri:
            refused = client.read(uri, "x")
        assert refused["error"] == "InternalError", refused
        assert client.peak - before < 100 * MB


# --- results ----------------------------------------------------------------------------------------------------------


@pytest.fixture(params=["served", "stock", "mariadb", "sqlite", "duckdb"])
def endless(request: pytest.FixtureRequest) -> tuple[str, str]:
    """A source, and a query for more than anybody has memory for."""
    if request.param == "served":
        return request.getfixturevalue("uri"), "select 7 as i, 'x' as t from range(10000000000)"
    if request.param == "stock":
        stock: pg.Cluster = request.getfixturevalue("stock")
        return stock.uri(), "select generate_series(1, 10000000000) as i, 'x' as t"
    if request.param == "mariadb":
        maria = request.getfixturevalue("maria")
        return maria.uri(), "select 7 as i, 'x' as t from seq_1_to_1000000 a straight_join seq_1_to_1000000 b"
    if request.param == "sqlite":
        path = request.getfixturevalue("tmp_path") / "a.sqlite"
        path.touch()
        numbers = "with recursive r(i) as (select 1 union all select i + 1 from r where i < 10000000000)"
        return f"sqlite:///{path}", f"{numbers} select i, 'x' as t from r"
    return "duckdb::memory:", "select 7 as i, 'x' as t from range(10000000000)"


def test_a_result_above_the_limit_is_an_error(endless: tuple[str, str], client: Client) -> None:
    uri, sql = endless
    refused = client.read(uri, sql, max_result_bytes=50 * MB)
    assert (refused["error"], refused["sqlstate"]) == ("OperationalError", "54000")
    assert "max_result_bytes" in refused["text"]
    assert client.peak < ROOM


def test_the_connection_goes_on(uri: str, stock: pg.Cluster) -> None:
    for place, sql in ((uri, "range(10000000)"), (stock.uri(), "generate_series(1, 10000000)")):
        with colonnade.connect(place) as connection:
            with pytest.raises(colonnade.OperationalError, match="1000000 bytes that max_result_bytes allows"):
                connection.query(f"select 7 as i from {sql}", max_result_bytes=1_000_000).to_arrow()
            assert connection.query("select 1 as one", max_result_bytes=1000).to_arrow().num_rows == 1


def test_columns_count_when_they_are_decoded(uri: str) -> None:
    sql = "select 7 as a, 8 as b from range(1000000)"
    with colonnade.connect(uri) as connection:
        result = connection.query(sql, compression="light", max_result_bytes=5 * MB)
        # As it came it is small; each column takes 4 MB.
        assert len(result.column("a")) == 1_000_000
        with pytest.raises(colonnade.OperationalError, match="max_result_bytes"):
            result.column("b")


@pytest.mark.parametrize("wrong", [0, -1, "much", True, 1.5])
def test_a_limit_is_a_number_of_bytes(uri: str, wrong: object) -> None:
    with colonnade.connect(uri) as connection, pytest.raises(colonnade.InterfaceError, match="max_result_bytes"):
        connection.query("select 1", max_result_bytes=wrong)  # type: ignore[arg-type]


def test_parts_share_the_limit(stock: pg.Cluster) -> None:
    with stock.connect() as session:
        session.execute("drop table if exists parted_bomb")
        session.execute("create table parted_bomb as select i::bigint as i from generate_series(1, 400000) i")
    sql = "select i from parted_bomb"
    options = {"partition_on": "i", "partition_num": 4, "return_type": "arrow"}
    assert colonnade.read_sql(stock.uri(), sql, max_result_bytes=4_000_000, **options).num_rows == 400_000
    with pytest.raises(colonnade.OperationalError, match="max_result_bytes"):
        colonnade.read_sql(stock.uri(), sql, max_result_bytes=2_000_000, **options)
