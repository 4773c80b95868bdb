-- Plans with workers: those that encode, and those where the backend does. All give the same rows.
CREATE EXTENSION colonnade;
SELECT colonnade_version();
\set QUIET off
CREATE TYPE weather AS ENUM ('dry', 'wet');
CREATE TABLE many AS SELECT i, i * 1.25::numeric(12, 3) AS n, repeat('x', i % 40) AS t, CASE WHEN i % 3 > 0 THEN ARRAY[i, NULL] END AS a,
    (ARRAY['dry', 'wet', NULL]::weather[])[1 + i % 3] AS w FROM generate_series(1, 20000) i;
ANALYZE many;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
\copy many TO /dev/null (FORMAT colonnade, parallel off)
\copy many TO /dev/null (FORMAT colonnade, parallel on)
\copy many TO /dev/null (FORMAT colonnade, parallel on, compression 'light+zstd-1', chunk_rows 100)
\copy many TO /dev/null (FORMAT colonnade, parallel on, chunk_bytes 300, encodings '')
\copy many TO /dev/null (FORMAT colonnade, parallel on, as_text 'a,w')
\copy (SELECT FROM many) TO /dev/null (FORMAT colonnade, parallel on)
\copy (SELECT many, t || t AS tt, i AS i FROM many) TO /dev/null (FORMAT colonnade, parallel on, as_text 'tt')
\copy (SELECT * FROM many WHERE false) TO /dev/null (FORMAT colonnade, parallel on)
\copy (SELECT a.*, b.t FROM many a JOIN many b USING (i)) TO /dev/null (FORMAT colonnade, parallel on)
\copy (SELECT * FROM many ORDER BY n DESC) TO /dev/null (FORMAT colonnade, parallel on)
\copy (SELECT * FROM many LIMIT 10) TO /dev/null (FORMAT colonnade, parallel on)
\copy (SELECT w, sum(n) FROM many GROUP BY w) TO /dev/null (FORMAT colonnade, parallel on)
\copy (SELECT i, pg_backend_pid() > 0 FROM many) TO /dev/null (FORMAT colonnade, parallel on)
\copy (SELECT * FROM many WHERE i > (SELECT avg(i) FROM many)) TO /dev/null (FORMAT colonnade, parallel on)
\copy (UPDATE many SET t = t RETURNING i) TO /dev/null (FORMAT colonnade, parallel on)

-- Errors of workers, and of the leader about what workers made.
\set VERBOSITY terse
\copy (SELECT 1 / (i - 15000) FROM many) TO /dev/null (FORMAT colonnade, parallel on)
\copy (SELECT i, ARRAY[[i]] AS a FROM many) TO /dev/null (FORMAT colonnade, parallel on)
\copy (SELECT repeat('x', 5000) AS t FROM many WHERE i < 3) TO /dev/null (FORMAT colonnade, parallel on, max_message_bytes 4096)
\copy many TO /dev/null (FORMAT colonnade, parallel on, as_text 'b')

-- With the leader for want of workers.
SET max_parallel_workers = 0;
\copy many TO /dev/null (FORMAT colonnade, parallel on)
RESET max_parallel_workers;

-- The costs are the session's again.
SHOW parallel_setup_cost;
SHOW parallel_tuple_cost;
DROP TABLE many;
DROP TYPE weather;
DROP EXTENSION colonnade;
