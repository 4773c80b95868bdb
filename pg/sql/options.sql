-- The options of PROTOCOL.md, and how each mistake is named.
CREATE EXTENSION colonnade;
SELECT colonnade_version();
SHOW colonnade.version;
SET colonnade.version = 2;
\o /dev/null

-- What is accepted.
COPY (SELECT 1) TO STDOUT (FORMAT colonnade);
COPY (SELECT 1) TO STDOUT WITH (FORMAT 'colonnade', VERSION 1, COMPRESSION 'light+zstd-3');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, compression auto, encodings 'plain, packed,quantum', codecs 'none,lz4');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, chunk_rows 1, chunk_bytes '1', max_message_bytes 1024);
COPY (SELECT 1.5 AS a, 2 AS "B,") TO STDOUT (FORMAT colonnade, numeric '38, 10', as_text 'a, "B,"', parallel off);

-- Unknown options and values: 22023.
\set VERBOSITY default
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, speed 'high');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, delimiter ';');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, header);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, encoding 'LATIN1');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, version 2);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, version one);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, compression snappy);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, compression);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, encodings (plain, delta));
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, chunk_rows 0);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, chunk_rows 16777217);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, chunk_bytes 1.5);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, max_message_bytes 1023);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, numeric '39');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, numeric '77,0');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, numeric '5,6');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, numeric '5,2x');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, numeric '4294967306,4294967298');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, numeric '5,4294967298');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, parallel maybe);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, as_text 'a,,b');
COPY (SELECT 1 AS a) TO STDOUT (FORMAT colonnade, as_text 'a,b');
\set VERBOSITY sqlstate
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, speed 'high');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, delimiter ';');
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, version 2);
COPY (SELECT 1 AS a) TO STDOUT (FORMAT colonnade, as_text 'b');

-- Given twice: 42601.
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, version 1, Version 1);
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, FORMAT csv);
COPY (SELECT 1) TO STDOUT (FORMAT csv, FORMAT colonnade);
\set VERBOSITY default
COPY (SELECT 1) TO STDOUT (FORMAT colonnade, chunk_rows 1, chunk_rows 2);

-- The format is for results that go to a client.
COPY (SELECT 1) TO '/dev/null' (FORMAT colonnade);
COPY (SELECT 1) TO PROGRAM 'cat' (FORMAT colonnade);
CREATE TABLE target (a int);
COPY target FROM '/dev/null' (FORMAT colonnade);
DROP TABLE target;

-- Other formats are core's as ever.
COPY (SELECT 1) TO STDOUT (FORMAT colonnades);
\o
COPY (SELECT 1, 'a;b') TO STDOUT (FORMAT csv, DELIMITER ';');
DROP EXTENSION colonnade;
