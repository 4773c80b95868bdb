"""What statements at random are made of: values, types and signs of DuckDB's, statements that a reader must not run,
and what can be put around a statement."""

from __future__ import annotations

#: Values of a type, with its extremes, one a line.
VALUES: dict[str, tuple[str, ...]] = {
    name: tuple(values.strip().splitlines())
    for name, values in {
        "BOOLEAN": """
true
false""",
        "BIGINT": """
0
1
-1
2
7
100
9223372036854775807
-9223372036854775808
i""",
        "INTEGER": """
0
1
-1
3
(-2147483648)::int
i::int""",
        "TINYINT": """
0::tinyint
127::tinyint
(-128)::tinyint""",
        "UBIGINT": """
0::ubigint
18446744073709551615::ubigint""",
        "HUGEINT": """
0::hugeint
170141183460469231731687303715884105727
(-170141183460469231731687303715884105728)""",
        "UHUGEINT": """
0::uhugeint
340282366920938463463374607431768211455::uhugeint""",
        "BIGNUM": """
0::bignum
repeat('9', 1000)::bignum
'-1'::bignum""",
        "DOUBLE": """
0.0::double
-0.0::double
'nan'::double
'-inf'::double
1e308
5e-324::double
0.5""",
        "FLOAT": """
0.1::float
'nan'::float
3.4e38::float""",
        "DECIMAL": """
1.5
0.00
99999999999999999999999999999999999999
(-0.000000001)
12.34::decimal(38,37)""",
        "VARCHAR": r"""
''
'a'
'abc'
'é💥ü'
'%s %d'
'%'
chr(0)
'a' || chr(0)
'[[1],null]'
'$.a[*]'
'{"a": [1, null], "b": {}}'
'(a|b)+$'
'['
'UTC'
'2024-02-30'
'infinity'
'day'
'\'
repeat('x', 70000)
'Asia/Tokyo'
'%Y-%m-%d'
't'
'canary'
'/etc/passwd'
'x.csv'
'-1'
'shop'
'main'
'0'
'null'
'{:9999d}'
'%1000d'
'utf-16'
'a,b'
'i::varchar'""",
        "BLOB": r"""
''::blob
'\x00\xFF'::blob
repeat('\xAA', 5000)::blob""",
        "BIT": """
'1'::bit
'0101010101'::bit
repeat('10', 3000)::bit""",
        "DATE": """
'2024-02-29'::date
'infinity'::date
'-infinity'::date
'5877642-06-25 (BC)'::date
'0001-01-01'::date""",
        "TIME": """
'00:00:00'::time
'24:00:00'::time
'23:59:59.999999'::time""",
        "TIME WITH TIME ZONE": """
'00:00:00+15:59:59'::timetz
'24:00:00-15:59:59'::timetz""",
        "TIMESTAMP": """
'2024-02-29 01:02:03.5'::timestamp
'infinity'::timestamp
'290309-12-22 (BC)'::timestamp
'294247-01-10'::timestamp""",
        "TIMESTAMP_NS": """
'1677-09-22'::timestamp_ns
'2262-04-11 23:47:16.854775806'::timestamp_ns""",
        "TIMESTAMP WITH TIME ZONE": """
'2024-03-31 02:30:00+00'::timestamptz
'-infinity'::timestamptz
'294247-01-10'::timestamptz""",
        "INTERVAL": """
interval 1 day
interval (-1) month
'178956970 years'::interval
interval 0 second
to_microseconds(9223372036854775807)""",
        "UUID": """
'00112233-4455-6677-8899-aabbccddeeff'::uuid""",
        "JSON": """
'{"a": [1, {"b": null}]}'::json
'[]'::json
'1e400'::json
'"x"'::json""",
        "VARIANT": """
1::variant
[1, 2]::variant
{'a': 1}::variant
null::variant""",
        "ENUM": """
'a'::enum('a', 'b')""",
        "MAP": """
map {'a': 1}
map {}
map {1: [2], null::int + 5: null}""",
        "STRUCT": """
{'a': 1, 'b': 'x'}
row(1, null)
{'a': {'a': {'a': 1}}}""",
        "UNION": """
union_value(a := 1)""",
        "GEOMETRY": """
'POINT (1 2)'::geometry
'POLYGON EMPTY'::geometry""",
        "LAMBDA": """
lambda x: x
lambda x, y: x
lambda x: x + 1
lambda x: [x]
lambda x: null
lambda x, i: i > 1""",
        "NULL": """
null""",
        "COLUMN": """
i
t
s
*
columns(*)
rowid
t.i""",
    }.items()
}
LISTS = tuple(
    r"""
[]
[null]
[1, 2, 3]
['a', null, '']
[[1], []]
range(100)
[1.5, 'nan']::double[]
[{'a': 1}]
""".strip().splitlines()
)
ARRAYS = tuple(
    r"""
array_value(1, 2, 3)
[1.0, 2.0]::float[2]
[1, 2, 3]::int[3]
[null, null]::double[2]
""".strip().splitlines()
)
TYPES = tuple(name for name in VALUES if name not in ("LAMBDA", "NULL", "COLUMN", "MAP", "STRUCT", "UNION", "ENUM"))
CASTS = (
    *TYPES,
    *(
        "INTEGER[]",
        "VARCHAR[][]",
        "DOUBLE[3]",
        "STRUCT(a INTEGER, b VARCHAR)",
        "MAP(VARCHAR, INTEGER)",
        "ENUM('a', 'b')",
    ),
    *("UNION(a INTEGER, b VARCHAR)", "DECIMAL(4,1)", "VARIANT[]", "JSON[]", "UTINYINT", "TIMESTAMP_S", "TIMESTAMP_MS"),
)
OPERATORS = (
    *("+", "-", "*", "/", "//", "%", "^", "**", "||", "=", "<", "<=>", "<<", ">>", "&", "|", "->", "->>", "@>", "<@"),
    *("&&", "^@", "<->", "~", "like", "ilike", "similar to", "glob", "is distinct from", "in", "and", "collate"),
)
AGGREGATED = (
    *("", " filter (where i > 2)", " over ()", " over (order by i rows between 1 preceding and 9e18 following)"),
    *(
        " over (partition by s order by i desc range between i preceding and current row)",
        " over (order by i exclude ties)",
    ),
)
SPACES = (" ", "\n", "\t", " /* ( ' */ ", "\u00a0", " -- '\n", "\u200b", "\ufeff")
#: What a reader must not be able to do, and statements that are its own.
STATEMENTS = tuple(
    r"""
insert into canary values ('dead')
delete from canary
update canary set c = 'dead'
truncate canary
drop table canary
create table mine as select 1
alter table t rename to u
create view v as select 1
create schema x
drop schema main cascade
merge into canary using (select 'alive' as c) u on canary.c = u.c when matched then delete
create index x on t (i)
comment on table canary is 'dead'
create macro abs(x) as 1
create type x as int
select nextval('s')
drop sequence s
copy canary to 'stolen.csv'
copy (from canary) to '/tmp/stolen.parquet' (format parquet)
copy canary from '/etc/passwd'
attach 'x.duckdb' as x
attach ':memory:' as x
detach shop
use system
export database 'stolen'
import database 'x'
create temp table own (i int, s varchar)
insert into own values (1, 'x')
drop table own
create temp view ownv as from own
create temp macro own(x) as x
create or replace temp table t as select 1 as i
drop view ownv
alter table own add column j int
begin
commit
rollback
begin read write
start transaction
savepoint a
rollback to a
release a
abort
end
set TimeZone = 'Asia/Tokyo'
set global TimeZone = 'Asia/Tokyo'
set search_path = 'system'
reset all
set threads = 1
set integer_division = true
set memory_limit = '1KB'
set variable x = 1
reset TimeZone
set schema = 'temp'
set lock_configuration = false
pragma threads = 1
pragma database_list
pragma enable_profiling
pragma table_info('canary')
pragma storage_info('t')
pragma version
checkpoint
force checkpoint
vacuum
analyze
call pragma_version()
load json
install json
update extensions
execute p
deallocate p
deallocate all
discard all
fetch 1 from c
move c
close c
close all
listen x
notify x
show all
show tables
show TimeZone
describe canary
summarize t
from duckdb_settings()
from pg_catalog.pg_class limit 3
from duckdb_secrets()
from duckdb_logs()
from 'x.csv'
from '/etc/passwd'
from glob('*')
from read_text('/proc/self/environ')
create secret x (type http)
drop secret x
alter database shop set alias to gone
copy canary from stdin
copy t to stdout
create trigger x after insert on t execute select 1
create persistent secret x (type s3)
select getenv('HOME')
from query('select 1')
""".strip().splitlines()
)
#: What is put around a statement.
AROUND = tuple(
    r"""
explain {}
explain analyze {}
explain (format json) {}
prepare p as {}
copy ({}) to stdout
copy ({}) to stdout (format csv, header)
copy ({}) to stdout (format binary)
copy ({}) to stdout (format colonnade)
declare c cursor for {}
declare c cursor with hold for {}
with a as ({}) from a
with a as materialized ({}) select 1
with recursive a as ({} union all select 1) from a limit 3
select * from ({}) t
select exists ({})
select ({})
create temp table own as {}
create or replace temp view ownv as {}
({}) union all ({})
describe {}
summarize {}
from ({}) limit 3
select count(*) from ({})
create temp macro own() as table {}
select array({})
begin; {}; commit
select 1; {}; select 2
{};
;;{};;
prepare p as explain analyze {}
copy ({}) to 'x.csv'
insert into canary {}
select * from t, lateral ({})
pivot ({}) on i
from ({}) tablesample 10%
explain analyze prepare p as {}
select * from t where i in ({})
with a as ({}) insert into canary from a
""".strip().splitlines()
)
WORDS = tuple("( ) , . [ ] { } = * 'x' 1 null t i canary -> :: $1 ; - + : ? not and".split())  # noqa: SIM905
