-- COPY FROM STDIN: what is accepted, what is refused, and in whose words. The files are beside the results.
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS colonnade;
SELECT colonnade_version();
SHOW colonnade.receive;
SET colonnade.receive = 2;
\set QUIET off

CREATE TABLE sent (id int, note text, price numeric(10, 2), at date, gone int, tags text[]);
ALTER TABLE sent DROP COLUMN gone;
INSERT INTO sent SELECT i, 'note ' || i, i / 4.0, date '2024-01-01' + i, ARRAY['a', NULL, i::text] FROM generate_series(1, 1000) i;
INSERT INTO sent VALUES (NULL, NULL, NULL, 'infinity', '{}');
\copy sent TO PROGRAM 'cat > "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade, chunk_rows 100)
CREATE TABLE received (id int, note text, price numeric(10, 2), at date, tags text[], twice int GENERATED ALWAYS AS (id * 2) STORED, kind text DEFAULT 'new');

\echo all columns
\copy received FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade)
SELECT count(*), sum(id), sum(twice), sum(price), min(kind), max(at), count(tags) FROM received;
(SELECT id, note, price, at, tags FROM received EXCEPT ALL TABLE sent) UNION ALL (TABLE sent EXCEPT ALL SELECT id, note, price, at, tags FROM received);
\echo some rows
\copy received FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade) WHERE id % 100 = 0
\echo frozen
BEGIN;
TRUNCATE received;
\copy received FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade, freeze, version 1)
COMMIT;
\echo not frozen
\copy received FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade, freeze)

-- Names and types.
\copy received (id, note) FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade)
\copy received (id, note, price, at, tags, kind) FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade)
\copy received (id, twice) FROM /dev/null (FORMAT colonnade)
ALTER TABLE received ALTER price TYPE numeric(12, 2);
\copy received FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade)
ALTER TABLE received ALTER price TYPE numeric(10, 2), ALTER tags TYPE int[] USING NULL;
\copy received FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade)
ALTER TABLE received ALTER tags TYPE text[] USING NULL;

-- Values.
ALTER TABLE received ADD CONSTRAINT few CHECK (id < 500) NOT VALID;
\copy received FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade)
ALTER TABLE received DROP CONSTRAINT few;
TRUNCATE received;
ALTER TABLE received ALTER note TYPE varchar(7);
\copy received FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade)
SELECT count(*) FROM received;

-- Streams that are damaged.
ALTER TABLE received ALTER note TYPE text;
\copy received FROM PROGRAM 'head -c -1 "${PG_ABS_BUILDDIR:-.}/results/sent.cln"' (FORMAT colonnade)
\copy received FROM PROGRAM 'cat "${PG_ABS_BUILDDIR:-.}/results/sent.cln"; echo' (FORMAT colonnade)
\copy received FROM PROGRAM 'head -c 10000 "${PG_ABS_BUILDDIR:-.}/results/sent.cln"; head -c 5000 /dev/zero' (FORMAT colonnade)
\copy received FROM PROGRAM 'echo 1,2' (FORMAT colonnade)
\copy received FROM /dev/null (FORMAT colonnade)
SELECT count(*) FROM received;

-- Options and targets.
\copy received FROM /dev/null (FORMAT colonnade, compression plain)
\copy received FROM /dev/null (FORMAT colonnade, delimiter ',')
\copy received FROM /dev/null (FORMAT colonnade, version 2)
\copy received FROM /dev/null (FORMAT colonnade, FORMAT colonnade)
COPY received FROM '/dev/null' (FORMAT colonnade);
COPY received FROM PROGRAM 'true' (FORMAT colonnade);
DO $$ BEGIN EXECUTE 'COPY received FROM STDIN (FORMAT colonnade)'; END $$;

DROP TABLE sent, received;
