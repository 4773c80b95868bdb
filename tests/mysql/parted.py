"""Tables of MariaDB's with keys of all kinds, for the tests of parts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import colonnade
import pyarrow as pa

from tests.testbed import mariadb

#: 4,000 rows with a column for each kind of key, NULLs in all but the first.
TABLES = """
set names utf8mb4; set time_zone = '+00:00';
create table part_keys (
  id int primary key, repeated smallint, tiny tinyint unsigned, large bigint, huge bigint unsigned,
  exact decimal(20, 6), wide decimal(60, 4), real4 float, real8 double, day date, moment datetime(6),
    instant timestamp(6) null,
  clock time(3), born year, mixed varchar(30), bytewise varchar(30) collate utf8mb4_bin,
    western varchar(30) character set latin1,
  padded char(12), long_text text, bits bit(11), flag bit(1), raw varbinary(20), kind enum('z', 'm', 'a'),
  some set('x', 'y', 'b'), uid uuid, address inet6, same int, nothing int, skewed int,
  index (large), index (moment), index (mixed)
);
insert into part_keys
  select seq, nullif(seq % 1000, 7), nullif(seq % 256, 9),
    nullif(cast(seq as signed) * 10000000000 - 20000000000000, 0),
    if(seq = 5, null, 18446744073709551615 - seq), nullif(seq, 9) / 7, seq * 1.5, seq / 3,
    if(seq % 500 = 4, null, seq / 3e0 - 500),
    if(seq = 1, null, date '2020-01-01' + interval seq day),
    date '2020-01-01' + interval seq hour + interval 1 microsecond,
    timestamp '1990-01-01 00:00:00' + interval seq * 3 day, sec_to_time(cast(seq as signed) * 700 - 1000000),
    1950 + seq % 100,
    if(seq % 11 = 0, null, concat(elt(seq % 11, 'a', 'B', 'b', 'A', 'ä', 'z''', 'ß', '\\\\', '"', ' '), seq)),
    if(seq % 11 = 0, null, concat(elt(seq % 11, 'a', 'B', 'b', 'A', 'ä', 'z''', 'ß', '\\\\', '"', '😀'), seq)),
    concat(elt(1 + seq % 4, 'ä', 'é', 'a', 'Z'), seq), concat(seq % 300, ''),
    concat(repeat('x', if(seq % 9 = 0, 3000, 3)), seq),
    nullif(seq % 2048, 3), seq % 2, unhex(md5(seq)), elt(1 + seq % 4, 'z', 'm', 'a', null),
    elt(1 + seq % 4, 'x', 'x,b', 'y', ''),
    cast(regexp_replace(md5(seq), '^(.{8})(....).(...).(...)(.{12})', '\\\\1-\\\\2-4\\\\3-8\\\\4-\\\\5') as uuid),
    cast(concat('::', hex(seq)) as inet6), 1, null, if(seq < 3900, 0, seq)
  from seq_1_to_4000;
create table part_empty (a int primary key, b text);
create table part_one (a int primary key, b text);
insert into part_one values (5, 'x');
create view part_seen as select id, mixed from part_keys;
create table `part ``odd; --` (`Key ``k` int, `b;--` varchar(20));
insert into `part ``odd; --` select seq, seq from seq_1_to_1000;
create table part_old (a int primary key, b int) engine MyISAM;
insert into part_old select seq, seq from seq_1_to_100;
create view part_hidden as select k.id from part_keys k join part_old o on k.id = o.a;
create table part_sums (k int primary key, a int);
insert into part_sums select seq, 100 from seq_1_to_20000;
create function part_next() returns int no sql return 1;
create function part_double(i int) returns int deterministic no sql return 2 * i;
create user part_reader@'%' identified by 'r';
grant select, show view, execute on shop.* to part_reader@'%';
"""
UNDO = """
drop user part_reader@'%'; drop function part_next; drop function part_double; drop view part_seen, part_hidden;
drop table part_keys, part_empty, part_one, `part ``odd; --`, part_old, part_sums;
"""


#: MySQL has neither of these types, and MD5 only as a component.
IN_MYSQL = {
    "uid uuid, address inet6": "uid char(36), address varbinary(16)",
    " as uuid)": " as char(36))",
    "cast(concat('::', hex(seq)) as inet6)": "inet6_aton(concat('::', hex(seq)))",
    "md5(seq)": "left(sha2(seq, 256), 32)",
    # Its regular expressions name groups by a dollar sign.
    "\\\\1-\\\\2-4\\\\3-8\\\\4-\\\\5": "$1-$2-4$3-8$4-$5",
}


@contextmanager
def prepared(server: mariadb.Server) -> Iterator[mariadb.Server]:
    """The tables are there for the time of the block."""
    tables = TABLES
    if mariadb.is_mysql():
        for ours, theirs in IN_MYSQL.items():
            assert ours in tables
            tables = tables.replace(ours, theirs)
    server.run(tables, mariadb.DATABASE)
    if mariadb.is_mysql():
        server.run("select 1", "--user=part_reader", "--password=r")
    yield server
    server.run(UNDO, mariadb.DATABASE)


def read(server: mariadb.Server, query: str | list[str], login: str | None = None, **arguments: Any) -> pa.Table:
    uri = server.uri() if login is None else server.uri(login)
    table = colonnade.read_sql(uri, query, return_type="arrow", **arguments)
    table.validate(full=True)
    return table


def rows(table: pa.Table) -> Counter[tuple[str, ...]]:
    """The rows, however often each."""
    return Counter(zip(*([str(value) for value in column.to_pylist()] for column in table.columns), strict=True))
