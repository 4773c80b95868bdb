-- Names and numbers of objects: what casts to `regclass` and its like become (`serve/duckdb/src/catalog/casts.rs`).

-- A type by any of its names, with or without its schema and its digits; NULL if there is none.
CREATE MACRO to_regtype(given) AS
    (SELECT CASE WHEN argument.is_array THEN typarray ELSE oid END
     FROM (SELECT words(base) AS parts, lower(trim(base)) AS whole, is_array
           FROM (SELECT regexp_replace(given::VARCHAR, '\s*(\([^()]*\)|\[\d*\])', '', 'g') AS base, given::VARCHAR LIKE '%]' AS is_array))
          AS argument,
          known_types
     WHERE known = argument.whole
        OR lower(known) = lower(argument.parts[-1])
           AND (len(argument.parts) = 1 OR namespace IN (11, schema_number(engine_schema(argument.parts[-2]))))
     ORDER BY known <> argument.whole, known <> argument.parts[-1], namespace <> schema_number(system.main.current_schema()), oid LIMIT 1);
CREATE MACRO regclass_number(given) AS
    coalesce(try_cast(given AS BIGINT), to_regclass(given::VARCHAR),
             CASE WHEN given IS NOT NULL THEN error('relation "' || given || '" does not exist')::BIGINT END);
CREATE MACRO regclass_name(given) AS
    coalesce((SELECT min(CASE WHEN schema = 'pg_catalog' THEN name ELSE in_schema(schema, name) END)
              FROM (SELECT coalesce(try_cast(given AS BIGINT), to_regclass(given::VARCHAR))) AS argument(number), relations
              WHERE oid = argument.number),
             given::VARCHAR);
CREATE MACRO regtype_number(given) AS
    coalesce(try_cast(given AS BIGINT), to_regtype(given),
             CASE WHEN given IS NOT NULL THEN error('type "' || given || '" does not exist')::BIGINT END);
CREATE MACRO regtype_name(number) AS
    CASE try_cast(number AS BIGINT) WHEN 0 THEN '-'
         ELSE coalesce(format_type(coalesce(try_cast(number AS BIGINT), to_regtype(number)), -1), number::VARCHAR) END;
-- The numbers of the types in the text of an array.
CREATE MACRO regtype_numbers(given) AS
    (SELECT coalesce(list(regtype_number(trim(name, ' "'))), []) FROM (SELECT unnest(string_split(given[2:-2], ',')) AS name) WHERE name <> '');
-- The names of a function's argument types.
CREATE MACRO regtype_list(numbers) AS
    [CASE number::BIGINT WHEN 25 THEN 'text' WHEN 2249 THEN 'record' ELSE number::VARCHAR END for number in numbers];
CREATE MACRO regnamespace_number(given) AS
    coalesce(try_cast(given AS BIGINT),
             (SELECT min(oid) FROM (SELECT words(given::VARCHAR)[-1]) AS argument(name), pg_namespace
              WHERE nspname = client_schema(argument.name)),
             CASE WHEN given IS NOT NULL THEN error('schema "' || given || '" does not exist')::BIGINT END);
CREATE MACRO regnamespace_name(number) AS
    coalesce((SELECT min(quote_ident(nspname))
              FROM (SELECT try_cast(number AS BIGINT)) AS argument(number), pg_namespace WHERE oid = argument.number),
             number::VARCHAR);
-- If several functions have the name, one of the current schema is meant.
CREATE MACRO to_regproc(given) AS
    (SELECT oid
     FROM (SELECT parts, schema_number(engine_schema(parts[-2]))
           FROM (SELECT words(given)) AS argument(parts)) AS argument(parts, namespace), pg_proc
     WHERE lower(proname) = lower(argument.parts[-1]) AND pronamespace = coalesce(argument.namespace, pronamespace)
     ORDER BY pronamespace IS DISTINCT FROM schema_number(system.main.current_schema()), oid LIMIT 1);
-- The types in the parentheses behind a function's name, as `shown_type` writes them.
CREATE MACRO argument_types(given) AS
    [coalesce(map_extract_value(MAP {'int': 'integer', 'int4': 'integer', 'int2': 'smallint', 'int8': 'bigint', 'float4': 'real', 'float8': 'double precision',
                   'float': 'double precision', 'double': 'double precision', 'bool': 'boolean', 'varchar': 'text', 'character varying': 'text',
                   'string': 'text', 'timestamptz': 'timestamp with time zone', 'bytea': 'blob'}, lower(trim(type))),
              CASE WHEN contains(type, '"') OR contains(type, '''') THEN trim(type) ELSE lower(trim(type)) END)
     for type in regexp_extract_all(regexp_extract(given, '\((.*)\)$', 1), '(?:[^,(]|\([^)]*\))+')];
-- Functions of the catalog's types have a name but no number.
CREATE MACRO regproc_number(given) AS regexp_replace(given::VARCHAR, '^pg_catalog\.', '');
CREATE MACRO regproc_oid(given) AS
    coalesce(try_cast(given AS BIGINT),
             to_regproc(given::VARCHAR),
             CASE WHEN given IS NOT NULL THEN error('function "' || given || '" does not exist')::BIGINT END);
CREATE MACRO regproc_name(given) AS
    coalesce((SELECT min(proname) FROM (SELECT try_cast(given AS BIGINT)) AS argument(number), pg_proc
              WHERE oid = argument.number),
             regexp_replace(given::VARCHAR, '^pg_catalog\.', ''));
-- A function with the types of its arguments.
CREATE MACRO regprocedure_number(given) AS
    coalesce(try_cast(given AS BIGINT),
             (SELECT min(oid)
              FROM (SELECT words(regexp_replace(given::VARCHAR, '\(.*$', '')),
                           argument_types(given::VARCHAR))
                   AS argument(parts, types), python_procedures
              WHERE lower(name) = lower(argument.parts[-1]) AND schema = coalesce(engine_schema(argument.parts[-2]), schema)
                AND shown_types = argument.types),
             -- A macro of DuckDB has no types.
             (SELECT min(oid) FROM (SELECT words(regexp_replace(given::VARCHAR, '\(.*$', ''))[-1]) AS argument(name),
                                   pg_proc
              WHERE prolang = 14 AND proname = argument.name),
             CASE WHEN given IS NOT NULL THEN error('function "' || given || '" does not exist')::BIGINT END);
CREATE MACRO regprocedure_name(given) AS
    CASE try_cast(given AS BIGINT) WHEN 0 THEN '-'
         ELSE coalesce((SELECT min(quote_ident(proname) || '('
                                   || array_to_string(['text' for name in proargnames], ',') || ')')
                        FROM (SELECT try_cast(given AS BIGINT)) AS argument(number), pg_proc
                        WHERE prolang = 14 AND oid = argument.number),
                       (SELECT min(in_schema(schema, name) || '(' || array_to_string(shown_types, ',') || ')')
                        FROM (SELECT try_cast(given AS BIGINT)) AS argument(number), python_procedures
                        WHERE oid = argument.number), given::VARCHAR) END;
