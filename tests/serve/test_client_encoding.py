"""Clients whose texts are in another encoding than UTF-8. Most tests run on PostgreSQL too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import colonnade
import psycopg
import pytest
from psycopg.pq import ExecStatus, Format, PGresult

from tests.testbed import postgres as pg
from tests.testbed.serving import Server, own_server

server = pytest.fixture(own_server, scope="module")

#: Encodings and Python's codecs, which give the candidates for characters.
CODECS = {
    **{f"LATIN{n}": f"iso8859-{part}" for n, part in enumerate((1, 2, 3, 4, 9, 10, 13, 14, 15, 16), 1)},
    **{f"WIN{page}": f"cp{page}" for page in (866, 874, *range(1250, 1259))},
    **{f"ISO_8859_{part}": f"iso8859-{part}" for part in (5, 6, 7, 8)},
    "KOI8R": "koi8-r",
    "KOI8U": "koi8-u",
    "EUC_JP": "euc_jp",
    "EUC_CN": "gb2312",
    "EUC_KR": "euc_kr",
    "SJIS": "cp932",
    "BIG5": "cp950",
    "GBK": "gbk",
    "UHC": "cp949",
    "GB18030": "gb18030",
}
MULTI_BYTE = ("euc_jp", "gb2312", "euc_kr", "cp932", "cp950", "gbk", "cp949", "gb18030")
NAMES = ("iso88591", "ISO-8859-15", "latin 2", "windows-1252", "win", "alt", "koi8", "koi8-u", "abc", "tcvn", "vscii")
NAMES += ("mskanji", "Shift_JIS", "win932", "windows949", "win950", "win936", "euc-jp", "unicode", "utf-8", "sql-ascii")


@pytest.fixture(scope="module")
def postgres(stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    with stock.connect() as session:
        yield session


@pytest.fixture
def ours(server: Server) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn, autocommit=True) as session:
        yield session


@pytest.fixture(params=["ours", "stock"])
def session(request: pytest.FixtureRequest, server: Server, stock: pg.Cluster) -> Iterator[psycopg.Connection]:
    dsn = server.dsn if request.param == "ours" else stock.dsn()
    with psycopg.connect(dsn, autocommit=True) as opened:
        yield opened


def run(connection: psycopg.Connection, query: str | bytes, *values: bytes, binary: bool = False) -> PGresult:
    """Runs a query in bytes; its values are texts, or all in binary form."""
    text = query if isinstance(query, bytes) else query.encode()
    form = Format.BINARY if binary else Format.TEXT
    return connection.pgconn.exec_params(text, values, param_formats=[form] * len(values), result_format=form)


def value(result: PGresult) -> bytes | None:
    assert result.status == ExecStatus.TUPLES_OK, result.error_message
    return result.get_value(0, 0)


def code(result: PGresult) -> str:
    return (result.error_field(psycopg.pq.DiagnosticField.SQLSTATE) or b"").decode()


def set_encoding(connection: psycopg.Connection, name: str) -> None:
    result = connection.pgconn.exec_(f"set client_encoding = '{name}'".encode())
    assert result.status == ExecStatus.COMMAND_OK, result.error_message


def numbers_of(connection: psycopg.Connection, texts: Sequence[bytes]) -> dict[bytes, int]:
    """The characters of these texts of one character. Texts that are none are left out, one by one."""
    query = "select string_agg(ascii(c)::text, ',') from unnest(string_to_array($1::text, chr(10))) t(c)"
    result = run(connection, query, b"\n".join(texts))
    if result.status == ExecStatus.TUPLES_OK:
        numbers = (result.get_value(0, 0) or b"").split(b",")
        assert len(numbers) == len(texts)
        return dict(zip(texts, map(int, numbers), strict=True))
    assert code(result) in ("22021", "22P05")
    if len(texts) == 1:
        return {}
    half = len(texts) // 2
    return numbers_of(connection, texts[:half]) | numbers_of(connection, texts[half:])


def bytes_of(connection: psycopg.Connection, characters: Sequence[int]) -> dict[int, bytes]:
    """The bytes of these characters. Characters that have none are left out."""
    numbers = "{" + ",".join(map(str, characters)) + "}"
    result = run(connection, "select chr(n) from unnest($1::int[]) t(n)", numbers.encode())
    if result.status == ExecStatus.TUPLES_OK:
        assert result.ntuples == len(characters)
        return {n: result.get_value(at, 0) or b"" for at, n in enumerate(characters)}
    assert code(result) == "22P05"
    if len(characters) == 1:
        return {}
    half = len(characters) // 2
    return bytes_of(connection, characters[:half]) | bytes_of(connection, characters[half:])


def candidates(codec: str) -> tuple[list[bytes], list[int]]:
    """Bytes that the codec reads as one character, and those characters."""
    found = {}
    places = [bytes([lead]) for lead in range(0x80, 0x100)]
    if codec in MULTI_BYTE:
        places += [bytes([lead, trail]) for lead in range(0x81, 0xFF) for trail in range(0x30, 0xFF)]
    if codec == "euc_jp":
        places += [bytes([0x8F, lead, trail]) for lead in range(0xA1, 0xFF) for trail in range(0xA1, 0xFF)]
    if codec == "gb18030":
        digits = range(0x30, 0x3A)
        places += [bytes([0x81 + a, b, 0x81, d]) for a in range(4) for b in digits for d in digits]
        places += [b"\x90\x30\x81\x30", b"\xe3\x32\x9a\x35", b"\x81\x35\xf4\x37", b"\x94\x39\xda\x33"]
    for place in places:
        try:
            text = place.decode(codec)
        except UnicodeDecodeError:
            continue
        # Of the characters for private use, most of which PostgreSQL refuses one by one, a few are enough.
        if len(text) == 1 and not 0xE010 <= ord(text) < 0xF8F0:
            found[place] = ord(text)
    # Bytes and characters that few character sets have.
    found |= {bytes(odd): 0 for odd in ((0x80,), (0x81, 0x41), (0xA2, 0xE3), (0xF9, 0xA1), (0xFE, 0x50), (0xFE, 0xFF))}
    return list(found), sorted({*found.values(), 0xA2, 0xA5, 0x203E, 0x20AC, 0x2212, 0x301C, 0xFF5E, 0x1F4A9} - {0})


@pytest.mark.parametrize("encoding", CODECS)
def test_all_characters(ours: psycopg.Connection, postgres: psycopg.Connection, encoding: str) -> None:
    texts, characters = candidates(CODECS[encoding])
    assert len(texts) > 80
    set_encoding(ours, encoding)
    set_encoding(postgres, encoding)
    assert numbers_of(ours, texts) == numbers_of(postgres, texts)
    assert bytes_of(ours, characters) == bytes_of(postgres, characters)


@pytest.mark.parametrize("name", [*CODECS, *NAMES])
def test_names(ours: psycopg.Connection, postgres: psycopg.Connection, name: str) -> None:
    def shown(connection: psycopg.Connection) -> tuple[bytes | None, bytes | None, bytes | None]:
        set_encoding(connection, name)
        told = connection.pgconn.parameter_status(b"client_encoding")
        return (
            told,
            value(run(connection, "show client_encoding")),
            value(run(connection, "select pg_client_encoding()")),
        )

    assert shown(ours) == shown(postgres)


def test_names_that_are_not_taken(ours: psycopg.Connection, postgres: psycopg.Connection, server: Server) -> None:
    for connection in (ours, postgres):
        for name in ("latin99", "", "klingon"):
            result = connection.pgconn.exec_(f"set client_encoding = '{name}'".encode())
            assert code(result) == "22023", name
        assert code(connection.pgconn.exec_(b"set client_encoding = mule_internal")) == "0A000"
    # PostgreSQL has this one.
    with pytest.raises(psycopg.errors.FeatureNotSupported, match="EUC_TW is not supported by this server"):
        ours.execute("set client_encoding = euc_tw")
    with pytest.raises(psycopg.OperationalError, match="latin99"):
        psycopg.connect(server.dsn, client_encoding="latin99")
    assert ours.execute("show client_encoding").fetchone() == ("UTF8",)


def test_encodings_have_postgresqls_numbers(ours: psycopg.Connection, postgres: psycopg.Connection) -> None:
    back = "pg_char_to_encoding(pg_encoding_to_char(n))"
    numbers = f"select n, pg_encoding_to_char(n), {back} from generate_series(-1, 43) t(n)"
    names = ", ".join(f"pg_char_to_encoding('{name}')" for name in ("Unicode", "koi8-r", "x"))
    set_encoding(postgres, "utf8")
    for asked in (numbers, f"select {names}, pg_client_encoding()"):
        assert ours.execute(asked).fetchall() == postgres.execute(asked).fetchall()


def test_a_client_may_begin_with_an_encoding(server: Server, stock: pg.Cluster) -> None:
    for dsn in (server.dsn, stock.dsn()):
        with psycopg.connect(dsn, client_encoding="latin1", autocommit=True) as session:
            assert session.pgconn.parameter_status(b"client_encoding") == b"LATIN1"
            assert value(run(session, b"select '\xe9'")) == b"\xe9"
            session.execute("set client_encoding = utf8")
            session.execute("reset client_encoding")
            assert session.pgconn.parameter_status(b"client_encoding") == b"LATIN1"


def test_each_change_is_reported(session: psycopg.Connection) -> None:
    def told() -> bytes | None:
        return session.pgconn.parameter_status(b"client_encoding")

    session.execute("select set_config('client_encoding', 'iso-8859-15', false)")
    assert told() == b"LATIN9"
    session.execute("begin; set client_encoding = sjis")
    assert told() == b"SJIS"
    session.execute("savepoint a; set local client_encoding = latin1; rollback to a")
    assert told() == b"SJIS"
    session.execute("rollback")
    assert told() == b"LATIN9"
    assert value(run(session, "select chr(8364)")) == b"\xa4"
    session.execute("begin; set local client_encoding = latin1; commit")
    assert told() == b"LATIN9"
    session.execute("discard all")
    assert told() == b"UTF8"
    session.execute("set names 'latin2'; reset all")
    assert told() == b"UTF8"
    assert value(run(session, "select chr(8364)")) == "€".encode()


def test_every_text_of_a_statement_is_converted(session: psycopg.Connection) -> None:
    set_encoding(session, "latin1")
    result = run(session, b"select '\xe9' as \"\xe8\", $1::text || $2", b"\xe0", b"x")
    assert (result.fname(0), result.get_value(0, 0), result.get_value(0, 1)) == (b"\xe8", b"\xe9", b"\xe0x")
    connection = session.pgconn
    assert connection.prepare(b"\xea", b'select $1::text as "\xeb"').status == ExecStatus.COMMAND_OK
    assert connection.describe_prepared(b"\xea").fname(0) == b"\xeb"
    assert value(connection.exec_prepared(b"\xea", [b"\xec"])) == b"\xec"
    missing = connection.exec_prepared(b"\xed", [])
    assert code(missing) == "26000" and b'"\xed"' in missing.error_message
    result = connection.exec_(b"set application_name = 'x'; show application_name")
    assert value(result) == b"x"
    failed = connection.exec_(b'select "\xee"')
    assert code(failed) == "42703" and b"\xee" in failed.error_message
    assert failed.error_field(psycopg.pq.DiagnosticField.STATEMENT_POSITION) == b"8"


def test_texts_within_binary_values(session: psycopg.Connection) -> None:
    session.execute("create schema encoded")
    session.execute("create type encoded.mood as enum ('é', 'ok')")
    set_encoding(session, "latin1")
    eacute = b"\xe9"
    array = b"".join(n.to_bytes(4, "big") for n in (1, 0, 25, 2, 1)) + b"\0\0\0\1\xe9\xff\xff\xff\xff"
    for cast, given in (("text", eacute), ("varchar", eacute), ("json", b'{"\xe9":"\xe9"}'), ("name", eacute)):
        assert value(run(session, f"select $1::{cast}", given, binary=True)) == given, cast
    result = session.pgconn.exec_params(
        b"select $1, $1[1]", [array], param_types=[1009], param_formats=[Format.BINARY], result_format=Format.BINARY
    )
    # Whether there are NULLs stands in the second number.
    assert (value(result) or b"")[8:] == array[8:] and result.get_value(0, 1) == eacute
    assert value(run(session, b"select '\xe9'::encoded.mood", binary=True)) == eacute
    moods = value(run(session, b"select array['\xe9'::encoded.mood]", binary=True)) or b""
    assert moods[-1:] == eacute
    row = value(run(session, b"select row('\xe9'::text, 1, '\xe8'::text)", binary=True)) or b""
    assert row[:13] == b"\0\0\0\3\0\0\0\x19\0\0\0\1\xe9" and row.endswith(b"\0\0\0\1\xe8")
    assert value(run(session, b"select '\\xe9'::bytea", binary=True)) == eacute
    for given in (b"\\x00e9", "é".encode("latin1")):
        # In text form, bytes are a text too, as in PostgreSQL.
        read = value(run(session, "select octet_length($1::bytea)::text", given))
        assert read == b"2"
    session.execute("drop type encoded.mood; drop schema encoded")


def test_what_cannot_be_converted_fails_its_statement(session: psycopg.Connection) -> None:
    set_encoding(session, "latin1")
    connection = session.pgconn
    for query in ("select chr(8364)", "select array[chr(8364)]", 'select 1 as "' + "x" * 3 + '", chr(8364)'):
        for binary in (False, True):
            assert code(run(session, query, binary=binary)) == "22P05", query
    assert value(run(session, "select chr(233)")) == b"\xe9"
    set_encoding(session, "utf8")
    connection.prepare(b"euro", 'select 1 as "€"'.encode())
    set_encoding(session, "latin1")
    assert code(connection.describe_prepared(b"euro")) == "22P05"
    set_encoding(session, "euc_jp")
    for wrong in (b"select '\xb0'", b"select '\xb0a'"):
        assert code(connection.exec_(wrong)) == "22021"
        assert code(run(session, wrong)) == "22021"
        assert code(run(session, b"select $1::text", b"\xb0")) == "22021"
        assert code(run(session, b"select $1::text", b"\xb0", binary=True)) == "22021"
    set_encoding(session, "utf8")
    assert code(connection.exec_(b"select '\xff'")) == "22021"
    assert code(run(session, b"select '\xff'")) == "22021"
    assert value(run(session, "select 1::text")) == b"1"


def test_rows_before_a_character_that_is_missing_arrive(session: psycopg.Connection) -> None:
    set_encoding(session, "latin1")
    connection = session.pgconn
    connection.send_query(b"select chr(n::int) from generate_series(254, 256) t(n)")
    connection.set_single_row_mode()
    seen: list[object] = []
    while result := connection.get_result():
        seen.append(result.get_value(0, 0) if result.status == ExecStatus.SINGLE_TUPLE else code(result))
    assert seen == [b"\xfe", b"\xff", "22P05"]


def test_an_error_arrives_with_question_marks(ours: psycopg.Connection) -> None:
    ours.execute("create temp table told (i int check (i > 0))")
    set_encoding(ours, "latin1")
    failed = ours.pgconn.exec_(b"select cast(chr(8364) || 'x' as int)")
    # PostgreSQL reports that the error's own text cannot be converted (22P05).
    assert code(failed) == "22P02" and b"'?x'" in failed.error_message


def copied(session: psycopg.Connection, statement: str) -> bytes:
    with session.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        return b"".join(bytes(part) for part in copy)


def copy_in(session: psycopg.Connection, statement: str, *parts: bytes) -> None:
    with session.cursor() as cursor, cursor.copy(statement.encode()) as copy:
        for part in parts:
            copy.write(part)


def test_copy(session: psycopg.Connection) -> None:
    session.execute("create temp table held (a text, b text)")
    set_encoding(session, "sjis")
    # The second byte of this character is a backslash.
    so = "ソ".encode("cp932")
    assert so.endswith(b"\\")
    line = so + b"\t" + so + b"\\\\\n"
    copy_in(session, "copy held from stdin", *(line[at : at + 1] for at in range(len(line))))
    assert session.execute("select ascii(a), ascii(b), length(b) from held").fetchone() == (0x30BD, 0x30BD, 2)
    assert copied(session, "copy held to stdout") == line
    assert copied(session, "copy held to stdout (format csv, delimiter '|')") == so + b"|" + so + b"\\\n"
    assert copied(session, "copy held to stdout (encoding 'utf8')") == "ソ\tソ\\\\\n".encode()
    assert copied(session, "copy held to stdout (format csv, encoding 'euc-jp')") == "ソ,ソ\\\n".encode("euc_jp")
    header = 'copy (select 1 as "ソ") to stdout (format csv, header)'
    with session.cursor() as cursor, cursor.copy(header.encode("cp932")) as copy:
        assert b"".join(bytes(part) for part in copy) == so + b"\n1\n"
    binary = copied(session, "copy held to stdout (format binary)")
    assert so in binary and "ソ".encode() not in binary
    session.execute("delete from held")
    copy_in(session, "copy held from stdin (format binary)", binary)
    copy_in(session, "copy held from stdin (format csv, encoding 'latin1')", b"\xe9,\xe8\n")
    assert session.execute("select ascii(a) from held order by 1").fetchall() == [(0xE9,), (0x30BD,)]
    with pytest.raises(psycopg.errors.UntranslatableCharacter):
        copied(session, "copy held to stdout")
    with pytest.raises(psycopg.errors.CharacterNotInRepertoire):
        copy_in(session, "copy held from stdin (encoding 'euc_jp')", b"\xb0")
    with pytest.raises(psycopg.errors.InvalidParameterValue):
        session.execute("copy held to stdout (encoding 'latin99')")
    assert session.execute("select count(*) from held").fetchone() == (2,)


def test_columns_are_utf8_in_any_encoding(server: Server) -> None:
    with psycopg.connect(server.dsn, autocommit=True, client_encoding="latin1") as session:
        plain = copied(session, "copy (select chr(8364) as e) to stdout (format colonnade, compression 'plain')")
        assert "€".encode() in plain
        assert "€".encode() in copied(session, "copy (select chr(8364) as e) to stdout (format arrow)")
        with pytest.raises(psycopg.errors.InvalidParameterValue, match="utf8"):
            session.execute("copy (select 1) to stdout (format colonnade, encoding 'latin1')")
    with colonnade.connect(server.dsn) as reader:
        assert reader.query("select chr(8364) as e").to_arrow().to_pylist() == [{"e": "€"}]


def test_cursors_and_pipelines(session: psycopg.Connection) -> None:
    set_encoding(session, "latin1")
    connection = session.pgconn
    connection.exec_(b"begin; declare \"\xe9\" cursor for select '\xe8' || n from generate_series(1, 3) t(n)")
    assert value(connection.exec_(b'fetch 1 from "\xe9"')) == b"\xe81"
    connection.exec_(b"rollback")
    with session.pipeline() as pipeline:
        found = session.execute("select 'é'")
        pipeline.sync()
        assert found.fetchone() == ("é",)
    with pytest.raises(psycopg.errors.UntranslatableCharacter), session.pipeline():
        session.execute("select chr(8364)")
    assert session.execute("select 'ü'").fetchone() == ("ü",)
