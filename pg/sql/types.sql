-- Every type of spec/TYPES.md is sent, and single values that have no exact form are refused by name.
CREATE EXTENSION colonnade;
SELECT colonnade_version();
\set QUIET off
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE nothing AS ENUM ();
CREATE TYPE pair AS (a int, b text);
CREATE TYPE deep AS (p pair, ps pair[], m mood);
CREATE DOMAIN positive AS numeric(10, 2) CHECK (VALUE > 0);
CREATE DOMAIN two AS pair;
CREATE TABLE many (b bool, i2 int2, i4 int4, i8 int8, o oid, f4 float4, f8 float8, n15 numeric(15, 2), n50 numeric(50, 20),
    n99 numeric(99, 2), n numeric, m money, t text, v varchar(9), c char(9), q "char", nm name, by bytea, d date, ti time,
    tz timetz, ts timestamp, tsz timestamptz, iv interval, u uuid, j json, jb jsonb, a int4[], ta text[], e mood, no nothing,
    dom positive, co pair, de deep, dt two, des deep[], r int4range, ine inet, ci cidr, ma macaddr, bi bit(3), vb varbit,
    tsv tsvector, p point, l pg_lsn, ve int2vector, ov oidvector, x xid, re regclass);
INSERT INTO many (b) SELECT NULL FROM generate_series(1, 10);
INSERT INTO many SELECT true, 1, 2, 3, 4, 5, 6, -7.25, 123456789012345678901234567890.5, 9, 10.125, 11, 'text', 'varchar', 'char', 'q', 'name',
    '\x00ff', '2024-02-29', '24:00', '12:00+05:30', 'infinity', '-infinity', '1 mon 2 days 3.5 s',
    'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1}', '{"a": 1}', '{1,NULL,3}', '{}', 'happy', NULL, 1, '(1,x)',
    '("(2,y)","{""(3,z)"",NULL}",sad)', '(4,w)', ARRAY['("(2,y)","{""(3,z)"",NULL}",sad)', NULL, '(,,)']::deep[], '[1,5)', '::1', '10.0.0.0/8',
    '08:00:2b:01:02:03', '101', '1', 'cat', '(1,2)', '16/B374D848', '1 2', '3 4', '5', 'pg_class'
    FROM generate_series(1, 10);
\copy many TO /dev/null (FORMAT colonnade, compression plain)
\copy many TO /dev/null (FORMAT colonnade, compression 'light+fsst+zstd-1', chunk_rows 3)
\copy many TO /dev/null (FORMAT colonnade, compression light, chunk_bytes 2000)
\copy (SELECT many FROM many) TO /dev/null (FORMAT colonnade)
\copy (SELECT NULL, row(1, 'a'), ARRAY[row(1, 2)], many.*::text FROM many) TO /dev/null (FORMAT colonnade)

-- What is refused, and the way out.
\copy (SELECT 'NaN'::numeric(5, 2) AS n) TO /dev/null (FORMAT colonnade)
\copy (SELECT n::numeric FROM (VALUES (1.5), (1.25)) v (n)) TO /dev/null (FORMAT colonnade, numeric '10,1')
\copy (SELECT n::numeric FROM (VALUES (999), (1000)) v (n)) TO /dev/null (FORMAT colonnade, numeric '5,2')
\copy (SELECT 1e70::numeric AS n) TO /dev/null (FORMAT colonnade, numeric '76,10')
\copy (SELECT 'Infinity'::numeric AS n) TO /dev/null (FORMAT colonnade, numeric '38,0')
\copy (SELECT 1e1000::numeric AS n, 1e-1000::numeric AS m) TO /dev/null (FORMAT colonnade, numeric '38,0')
\copy (SELECT timestamp '294276-12-31' AS t) TO /dev/null (FORMAT colonnade)
\copy (SELECT timestamptz '294276-12-31 00:00+00' AS t) TO /dev/null (FORMAT colonnade)
\copy (SELECT interval '2562048 hours' AS i) TO /dev/null (FORMAT colonnade)
\copy (SELECT '{{1,2},{3,4}}'::int[] AS a) TO /dev/null (FORMAT colonnade)
\copy (SELECT '[0:1]={1,2}'::int[] AS a) TO /dev/null (FORMAT colonnade)
\copy (SELECT row(1, '{{1}}')::pair, ('(,"{""(1,a)""}",)'::deep), ARRAY[row(NULL, ARRAY[[row(1, 'a')::pair]], 'ok')::deep] AS d) TO /dev/null (FORMAT colonnade)
\copy (SELECT '{{1,2},{3,4}}'::int[] AS a, 'NaN'::numeric(5, 2) AS n, timestamp '294276-12-31' AS t) TO /dev/null (FORMAT colonnade, as_text 'a,n,t')
\set VERBOSITY sqlstate
\copy (SELECT 'NaN'::numeric(5, 2) AS n) TO /dev/null (FORMAT colonnade)
\copy (SELECT timestamp '294276-12-31' AS t) TO /dev/null (FORMAT colonnade)
\copy (SELECT '{{1,2},{3,4}}'::int[] AS a) TO /dev/null (FORMAT colonnade)
DROP TABLE many;
DROP DOMAIN positive, two;
DROP TYPE deep, pair, mood, nothing;
DROP EXTENSION colonnade;
