-- PostgreSQL's functions for dates, texts and JSON that DuckDB lacks or calls otherwise.

-- DuckDB's only reading of the clock within a transaction is the time in a new UUID, in milliseconds. now() is the beginning of the transaction.
CREATE MACRO clock_timestamp() AS greatest(now(), uuid_extract_timestamp(uuidv7()));
-- A subquery is computed once for a statement.
CREATE MACRO statement_timestamp() AS (SELECT greatest(now(), uuid_extract_timestamp(uuidv7())));
CREATE MACRO timeofday() AS strftime(greatest(now(), uuid_extract_timestamp(uuidv7())), '%a %b %d %H:%M:%S.%f %Y %Z');
CREATE MACRO make_interval(years := 0, months := 0, weeks := 0, days := 0, hours := 0, mins := 0, secs := 0) AS
    to_years(years) + to_months(months) + to_days(7 * weeks + days) + to_hours(hours) + to_minutes(mins)
    + to_microseconds(round(1000000 * secs::DOUBLE)::BIGINT);
CREATE MACRO date_bin(stride, source, origin) AS time_bucket(stride::INTERVAL, source, origin);

-- A word is letters and digits.
CREATE MACRO initcap(given) AS
    CASE WHEN given = '' THEN '' ELSE
        array_to_string(list_transform(regexp_extract_all(given, '[\pL\pN]+|[^\pL\pN]+'), lambda part: upper(part[1]) || lower(part[2:])), '')
    END;
CREATE MACRO btrim(given) AS trim(given);
CREATE MACRO btrim(given, characters) AS trim(given, characters);
CREATE MACRO every(condition) AS bool_and(condition);

CREATE MACRO json_agg(item) AS to_json(list(item));
CREATE MACRO jsonb_agg(item) AS to_json(list(item));
CREATE MACRO json_object_agg(name, item) AS CASE WHEN count(*) > 0 THEN json_group_object(name, item) END;
CREATE MACRO jsonb_object_agg(name, item) AS CASE WHEN count(*) > 0 THEN json_group_object(name, item) END;
-- `a || b` of jsonb: the members of two objects, of which those of the second count; else the items of both.
CREATE MACRO jsonb_items(given) AS
    CASE WHEN given IS NOT NULL THEN CASE WHEN json_type(given) = 'ARRAY' THEN given::JSON[] ELSE [given::JSON] END END;
CREATE MACRO jsonb_concat(a, b) AS
    CASE WHEN a IS NOT NULL AND b IS NOT NULL THEN
        CASE WHEN json_type(a) = 'OBJECT' AND json_type(b) = 'OBJECT'
             THEN to_json(map_concat(CASE WHEN json_type(a) = 'OBJECT' THEN a::JSON::MAP(VARCHAR, JSON) END,
                                     CASE WHEN json_type(b) = 'OBJECT' THEN b::JSON::MAP(VARCHAR, JSON) END))
             ELSE to_json(list_concat(jsonb_items(a), jsonb_items(b))) END
    END;
CREATE MACRO to_jsonb(given) AS to_json(given);
-- Paths of names and numbers, as in '$.a.b[0]', are DuckDB's too.
CREATE MACRO jsonb_path_query_first(given, path) AS json_extract(given, path);
CREATE MACRO jsonb_path_query(given, path) AS unnest(CASE WHEN json_exists(given, path) THEN [json_extract(given, path)] ELSE [] END);
CREATE MACRO jsonb_path_exists(given, path) AS json_exists(given, path);
CREATE MACRO jsonb_extract_path(given, a) AS json_extract_path(given, a);
CREATE MACRO jsonb_extract_path(given, a, b) AS json_extract_path(json_extract_path(given, a), b);
CREATE MACRO jsonb_extract_path(given, a, b, c) AS json_extract_path(json_extract_path(json_extract_path(given, a), b), c);
CREATE MACRO jsonb_extract_path_text(given, a) AS json_extract_path_text(given, a);
CREATE MACRO jsonb_extract_path_text(given, a, b) AS json_extract_path_text(json_extract_path(given, a), b);
CREATE MACRO jsonb_extract_path_text(given, a, b, c) AS json_extract_path_text(json_extract_path(json_extract_path(given, a), b), c);
CREATE MACRO uuid_generate_v4() AS gen_random_uuid();
CREATE MACRO jsonb_array_length(given) AS json_array_length(given)::INTEGER;
CREATE MACRO json_typeof(given) AS
    CASE json_type(given) WHEN 'ARRAY' THEN 'array' WHEN 'OBJECT' THEN 'object' WHEN 'VARCHAR' THEN 'string' WHEN 'BOOLEAN' THEN 'boolean'
                          WHEN 'NULL' THEN 'null' ELSE CASE WHEN given IS NOT NULL THEN 'number' END END;
CREATE MACRO jsonb_typeof(given) AS json_typeof(given);
CREATE MACRO jsonb_build_object(a, b) AS json_build_object(a, b);
CREATE MACRO jsonb_build_object(a, b, c, d) AS json_build_object(a, b, c, d);
CREATE MACRO jsonb_build_object(a, b, c, d, e, f) AS json_build_object(a, b, c, d, e, f);
CREATE MACRO jsonb_build_object(a, b, c, d, e, f, g, h) AS json_build_object(a, b, c, d, e, f, g, h);
CREATE MACRO jsonb_build_object(a, b, c, d, e, f, g, h, i, j) AS json_build_object(a, b, c, d, e, f, g, h, i, j);
CREATE MACRO jsonb_build_object(a, b, c, d, e, f, g, h, i, j, k, l) AS json_build_object(a, b, c, d, e, f, g, h, i, j, k, l);
CREATE MACRO jsonb_build_object(a, b, c, d, e, f, g, h, i, j, k, l, m, n) AS json_build_object(a, b, c, d, e, f, g, h, i, j, k, l, m, n);
-- They give nothing in PostgreSQL, which is an empty text for its clients. The filter keeps DuckDB from leaving out a column that nobody reads.
CREATE MACRO pg_sleep(seconds) AS CASE WHEN sleep_ms((seconds * 1000)::BIGINT) IS NULL THEN '' END;
CREATE MACRO pg_sleep(seconds) AS TABLE SELECT '' AS pg_sleep WHERE sleep_ms((seconds * 1000)::BIGINT) IS NULL;
-- Bytes by their numbers from 0.
CREATE MACRO byte_place(bytes, number) AS
    CASE WHEN number >= 0 AND number < octet_length(bytes) THEN number + 1
         WHEN number IS NOT NULL AND bytes IS NOT NULL
         THEN error('index ' || number || ' out of valid range, 0..' || (octet_length(bytes) - 1)) END;
CREATE MACRO get_byte(bytes, number) AS
    ('0x' || hex(array_slice(bytes, byte_place(bytes, number), byte_place(bytes, number))))::INTEGER;
CREATE MACRO set_byte(bytes, number, replacement) AS
    array_slice(bytes, 1, byte_place(bytes, number) - 1) || unhex(printf('%02x', replacement & 255))
    || array_slice(bytes, byte_place(bytes, number) + 1, octet_length(bytes));
