-- What can be copied, what is refused, and in whose words.
CREATE EXTENSION colonnade;
SELECT colonnade_version();
SET client_min_messages = warning;
-- The bytes go nowhere; \copy shows the tag, which has the number of rows.
\set QUIET off

CREATE TABLE plain (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED, gone int, note text);
ALTER TABLE plain DROP COLUMN gone;
INSERT INTO plain (id, note) SELECT i, 'note ' || i FROM generate_series(1, 1000) i;
CREATE TABLE child () INHERITS (plain);
INSERT INTO child (id, note) SELECT i, 'child' FROM generate_series(1, 10) i;
CREATE VIEW seen AS SELECT * FROM plain WHERE id <= 100;
CREATE TABLE parts (id int, part text) PARTITION BY LIST (part);
CREATE TABLE parts_a PARTITION OF parts FOR VALUES IN ('a');
CREATE TABLE parts_b PARTITION OF parts FOR VALUES IN ('b');
INSERT INTO parts SELECT i, CASE i % 2 WHEN 0 THEN 'a' ELSE 'b' END FROM generate_series(1, 20) i;
CREATE TEMP TABLE passing AS SELECT 1 AS a;
CREATE TABLE bare ();
INSERT INTO bare SELECT FROM generate_series(1, 5);
CREATE SEQUENCE numbers;

\echo plain
\copy plain TO /dev/null (FORMAT colonnade)
\echo columns
\copy plain (note, id) TO /dev/null (FORMAT colonnade)
\echo with children
\copy (TABLE plain) TO /dev/null (FORMAT colonnade)
\echo view
\copy (SELECT * FROM seen) TO /dev/null (FORMAT colonnade)
\echo partitioned
\copy (SELECT * FROM parts) TO /dev/null (FORMAT colonnade)
\echo partition
\copy parts_a TO /dev/null (FORMAT colonnade)
\echo temporary
\copy passing TO /dev/null (FORMAT colonnade)
\echo no columns
\copy bare TO /dev/null (FORMAT colonnade)
\echo none selected
\copy (SELECT FROM plain) TO /dev/null (FORMAT colonnade)
\echo no rows
\copy (SELECT * FROM plain WHERE false) TO /dev/null (FORMAT colonnade)
\echo values
\copy (VALUES (1, 'a'), (2, 'b')) TO /dev/null (FORMAT colonnade)
\echo with
\copy (WITH a AS (SELECT 1), b AS (INSERT INTO passing VALUES (2) RETURNING a) SELECT * FROM a, b) TO /dev/null (FORMAT colonnade)
\echo insert
\copy (INSERT INTO passing SELECT generate_series(1, 3) RETURNING a) TO /dev/null (FORMAT colonnade)
\echo update
\copy (UPDATE passing SET a = a + 1 RETURNING *) TO /dev/null (FORMAT colonnade)
\echo delete
\copy (DELETE FROM passing RETURNING a) TO /dev/null (FORMAT colonnade)
\echo small chunks
\copy (SELECT i, repeat('x', i) FROM generate_series(1, 200) i) TO /dev/null (FORMAT colonnade, chunk_bytes 500)
\echo few rows a chunk
\copy (SELECT 1 FROM generate_series(1, 100)) TO /dev/null (FORMAT colonnade, chunk_rows 7)
SELECT format('COPY (SELECT %s FROM generate_series(1, 3)) TO STDOUT (FORMAT colonnade)', string_agg(CASE i % 3 WHEN 0 THEN i::text WHEN 1 THEN 'NULL::text' ELSE quote_literal(i) END, ', ')) AS wide FROM generate_series(1, 1600) i \gset
\o /dev/null
:wide;
\o

-- What core's COPY refuses, in its words.
\copy seen TO /dev/null (FORMAT colonnade)
\copy numbers TO /dev/null (FORMAT colonnade)
\copy absent TO /dev/null (FORMAT colonnade)
\copy plain (id, absent) TO /dev/null (FORMAT colonnade)
\copy plain (id, twice) TO /dev/null (FORMAT colonnade)
\copy plain (id, id) TO /dev/null (FORMAT colonnade)
\copy plain (id, ctid) TO /dev/null (FORMAT colonnade)
\copy (SELECT 1 INTO t) TO /dev/null (FORMAT colonnade)
\copy (DELETE FROM plain) TO /dev/null (FORMAT colonnade)
\copy (SELECT absent) TO /dev/null (FORMAT colonnade)
DO $$ BEGIN EXECUTE 'COPY (SELECT 1) TO STDOUT (FORMAT colonnade)'; END $$;

-- Errors in the middle leave the session usable and nothing behind.
\copy (SELECT 100 / (50 - i) FROM generate_series(1, 100) i) TO /dev/null (FORMAT colonnade, chunk_rows 10)
\copy (SELECT repeat('x', 5000)) TO /dev/null (FORMAT colonnade, max_message_bytes 4096)
BEGIN;
\copy (SELECT 1 / 0) TO /dev/null (FORMAT colonnade)
\copy (SELECT 1) TO /dev/null (FORMAT colonnade)
ROLLBACK;
\echo after errors
\copy (SELECT 1) TO /dev/null (FORMAT colonnade)
SET statement_timeout = '50ms';
\copy (SELECT pg_sleep(10)) TO /dev/null (FORMAT colonnade)
RESET statement_timeout;

-- A transaction's own changes are seen, and read-only ones are kept.
BEGIN;
INSERT INTO plain (id, note) VALUES (5000, 'new');
\echo own changes
\copy plain TO /dev/null (FORMAT colonnade)
ROLLBACK;
BEGIN READ ONLY;
\echo read only
\copy plain TO /dev/null (FORMAT colonnade)
\copy (DELETE FROM plain RETURNING id) TO /dev/null (FORMAT colonnade)
ROLLBACK;

-- A COPY to a file by a function that our query calls stays core's.
CREATE FUNCTION writes() RETURNS int LANGUAGE plpgsql AS
    $$ BEGIN EXECUTE 'COPY (SELECT 1) TO ''/dev/null'''; EXECUTE 'COPY plain TO ''/dev/null'' (FORMAT csv)'; RETURN 1; END $$;
\echo nested
\copy (SELECT writes() FROM generate_series(1, 3)) TO /dev/null (FORMAT colonnade)

-- Rules and triggers.
CREATE RULE nothing AS ON DELETE TO child DO INSTEAD NOTHING;
\copy (DELETE FROM child RETURNING id) TO /dev/null (FORMAT colonnade)
DROP RULE nothing ON child;

-- Permissions and row-level security.
CREATE ROLE regress_colonnade_reader;
GRANT SELECT (id) ON plain TO regress_colonnade_reader;
GRANT SELECT ON parts_a TO regress_colonnade_reader;
ALTER TABLE parts_a ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON parts_a USING (id <= 6);
SET ROLE regress_colonnade_reader;
\copy plain TO /dev/null (FORMAT colonnade)
\echo allowed column
\copy plain (id) TO /dev/null (FORMAT colonnade)
\copy (SELECT note FROM plain) TO /dev/null (FORMAT colonnade)
\echo policy
\copy parts_a TO /dev/null (FORMAT colonnade)
SET row_security = off;
\copy parts_a TO /dev/null (FORMAT colonnade)
RESET ROLE;
REVOKE SELECT ON parts_a FROM regress_colonnade_reader;
GRANT SELECT (id) ON parts_a TO regress_colonnade_reader;
SET ROLE regress_colonnade_reader;
\copy parts_a TO /dev/null (FORMAT text)
\copy parts_a TO /dev/null (FORMAT colonnade)
\copy parts_a (id) TO /dev/null (FORMAT text)
\copy parts_a (id) TO /dev/null (FORMAT colonnade)
RESET row_security;
RESET ROLE;
DROP OWNED BY regress_colonnade_reader;
DROP ROLE regress_colonnade_reader;

-- The query's own expressions go by the session's settings, and these are as before.
SET DateStyle = 'SQL, DMY';
SET extra_float_digits = -5;
\copy (SELECT now()::timetz, '{1}'::float8[], daterange('2024-02-01', NULL)) TO /dev/null (FORMAT colonnade)
\copy (SELECT date '29/02/2024' = '29/02/2024', int4range(1, i) , 1 / (2 - i) FROM generate_series(1, 2) i) TO /dev/null (FORMAT colonnade)
SHOW DateStyle;
SHOW extra_float_digits;
RESET DateStyle;
RESET extra_float_digits;

DROP TABLE plain, parts, bare CASCADE;
DROP SEQUENCE numbers;
DROP FUNCTION writes;
DROP EXTENSION colonnade;
