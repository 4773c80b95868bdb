-- The types that users have made, beside PostgreSQL's, and the types of columns.

-- The number of the type of arrays of a user's type (`oid.rs`).
CREATE MACRO array_number(number) AS number + 1073741824;

-- Enumerations.
CREATE VIEW enums AS
SELECT type_oid AS oid, type_name AS name, schema_oid AS namespace, schema_name AS schema, labels,
       'ENUM(' || array_to_string(['''' || replace(label, '''', '''''') || '''' for label in labels], ', ') || ')' AS duckdb
FROM duckdb_types() WHERE database_name = current_database() AND NOT internal AND logical_type = 'ENUM';
-- All types of users that clients can see: those, and composite types (`composite_types.sql`).
CREATE VIEW user_types AS
SELECT oid, name, namespace, schema, duckdb, 0 AS relid, 4 AS length, 'e' AS kind, 'E' AS category, 'enum_' AS stem FROM enums
UNION ALL SELECT oid, name, namespace, schema, duckdb, relid, -1, 'c', 'C', 'record_' FROM composites;
-- A column has the number of the oldest of them that are made of the same.
CREATE VIEW user_type_numbers AS SELECT duckdb, min(oid) AS oid FROM user_types GROUP BY duckdb;

CREATE VIEW pg_type AS
SELECT oid, typname, namespace AS typnamespace, 10::BIGINT AS typowner, typlen, typlen > 0 AS typbyval, typtype, typcategory,
       false AS typispreferred, true AS typisdefined, ',' AS typdelim, relid::BIGINT AS typrelid, typelem, typarray,
       function_named(stem || 'in') AS typinput, function_named(stem || 'out') AS typoutput,
       function_named(stem || 'recv') AS typreceive, function_named(stem || 'send') AS typsend,
       function_named('-') AS typmodin, function_named('-') AS typmodout,
       function_named('-') AS typanalyze, 'i' AS typalign, 'p' AS typstorage, false AS typnotnull,
       0::BIGINT AS typbasetype, -1 AS typtypmod, 0 AS typndims, 0::BIGINT AS typcollation, NULL::VARCHAR AS typdefault,
       NULL::VARCHAR[] AS typacl
FROM (SELECT oid, typname, 11::BIGINT AS namespace, typlen,
             CASE WHEN typcategory = 'P' THEN 'p' WHEN typname LIKE '%multirange' THEN 'm' WHEN typcategory = 'R' THEN 'r' ELSE 'b' END AS typtype,
             typcategory,
             0::BIGINT AS typelem, typarray, 0 AS relid,
             -- The first part of the names of a type's functions in PostgreSQL.
             CASE WHEN typname LIKE '%multirange' THEN 'multirange_' WHEN typcategory = 'R' THEN 'range_'
                  WHEN typname IN ('date', 'time', 'timetz', 'timestamp', 'timestamptz', 'interval', 'numeric', 'json', 'jsonb', 'uuid', 'bit',
                                   'varbit', 'record', 'inet', 'cidr', 'macaddr', 'macaddr8') THEN typname || '_' ELSE typname END AS stem
      FROM types
      UNION ALL SELECT typarray, '_' || typname, 11, -1, 'b', 'A', oid, 0, 0, 'array_' FROM types WHERE typarray > 0
      UNION ALL SELECT oid, name, namespace, length, kind, category, 0, array_number(oid), relid, stem FROM user_types
      UNION ALL SELECT array_number(oid), '_' || name, namespace, -1, 'b', 'A', oid, 0, 0, 'array_' FROM user_types);

CREATE VIEW pg_enum AS
SELECT oid * 65536 + position AS oid, oid AS enumtypid, position::FLOAT AS enumsortorder, label AS enumlabel
FROM (SELECT oid, unnest(labels) AS label, unnest(range(1, len(labels) + 1)) AS position FROM enums);

-- Types by DuckDB's names, without the part in parentheses, and by PostgreSQL's names.
CREATE TABLE by_duckdb AS SELECT unnest(duckdb) AS known, oid, typarray FROM types;
CREATE TABLE by_sql AS SELECT oid, sql_name AS known FROM types UNION ALL SELECT typarray, sql_name || '[]' FROM types WHERE typarray > 0;

-- Types by all their names.
CREATE VIEW known_types AS
SELECT oid, typarray, typname AS known, typnamespace AS namespace FROM pg_type
UNION ALL SELECT oid, typarray, sql_name, 11 FROM types
UNION ALL SELECT oid, typarray, lower(known), 11 FROM by_duckdb
UNION ALL SELECT oid, typarray, other, 11
          FROM types JOIN (VALUES ('int4', 'int'), ('numeric', 'dec'), ('bpchar', 'char'), ('float8', 'float')) AS others(name, other)
          ON typname = others.name;

-- DuckDB's columns with the numbers of their types; text if PostgreSQL has no such type. One decimal is `numeric` without digits.
CREATE VIEW numbered_columns AS
SELECT c.*, data_type <> 'DECIMAL(37,10)' AS has_digits,
       CASE WHEN data_type LIKE '%]' THEN coalesce(array_number(u.oid), t.typarray, 1009) ELSE coalesce(u.oid, t.oid, 25) END AS type,
       CASE WHEN data_type LIKE 'DECIMAL(%)' AND has_digits THEN numeric_precision * 65536 + numeric_scale + 4 ELSE -1 END::INTEGER AS modifier
FROM duckdb_columns() c
LEFT JOIN by_duckdb t ON t.known = split_part(regexp_replace(c.data_type, '(\[[0-9]*\])+$', ''), '(', 1)
LEFT JOIN user_type_numbers u ON u.duckdb = regexp_replace(c.data_type, '(\[[0-9]*\])+$', '')
WHERE is_visible(c.database_name) AND NOT c.internal;

-- The attributes of composite types. A row in binary says the types of its fields, and some clients compare them with these. So texts are
-- `text` here, as in rows, and maps are arrays.
CREATE VIEW attributes AS
SELECT f.relid, f.number, struct_extract(f.field, 'name') AS name,
       CASE WHEN base = 'MAP' THEN 2287 WHEN base = 'VARCHAR' THEN CASE WHEN is_array THEN 1009 ELSE 25 END
            WHEN is_array THEN coalesce(array_number(u.oid), t.typarray, 1009) ELSE coalesce(u.oid, t.oid, 25) END AS type,
       CASE WHEN base = 'DECIMAL' AND item <> 'DECIMAL(37,10)' THEN regexp_extract(item, ',(\d+)', 1)::INTEGER + 4 + 65536 * regexp_extract(item, '\((\d+)', 1)::INTEGER
            ELSE -1 END AS modifier
FROM (SELECT *, struct_extract(field, 'type') AS type, regexp_replace(type, '(\[[0-9]*\])+$', '') AS item, type LIKE '%]' AS is_array,
             split_part(item, '(', 1) AS base
      FROM (SELECT relid, unnest(fields) AS field, unnest(range(1, len(fields) + 1)) AS number FROM composites)) f
LEFT JOIN by_duckdb t ON t.known = f.base
LEFT JOIN user_type_numbers u ON u.duckdb = f.item;
