-- PostgreSQL's catalog as its clients ask for it, of the database that is current. DuckDB's own views of these names have other type
-- numbers, and all databases at once.

CREATE TYPE name AS VARCHAR;
CREATE TYPE jsonb AS JSON;
CREATE TYPE regclass AS VARCHAR;
CREATE TYPE regtype AS VARCHAR;
CREATE TYPE regproc AS VARCHAR;
CREATE TYPE regnamespace AS VARCHAR;

CREATE TABLE types (oid BIGINT, typname VARCHAR, typlen INTEGER, typcategory VARCHAR, typarray BIGINT, sql_name VARCHAR, duckdb VARCHAR[]);
INSERT INTO types VALUES
    (16, 'bool', 1, 'B', 1000, 'boolean', ['BOOLEAN']),
    (17, 'bytea', -1, 'U', 1001, 'bytea', ['BLOB', 'GEOMETRY']),
    (18, 'char', 1, 'Z', 1002, '"char"', []),
    (19, 'name', 64, 'S', 1003, 'name', []),
    (20, 'int8', 8, 'N', 1016, 'bigint', ['BIGINT', 'UINTEGER']),
    (21, 'int2', 2, 'N', 1005, 'smallint', ['SMALLINT', 'TINYINT', 'UTINYINT']),
    (23, 'int4', 4, 'N', 1007, 'integer', ['INTEGER', 'USMALLINT']),
    (25, 'text', -1, 'S', 1009, 'text', []),
    (26, 'oid', 4, 'N', 1028, 'oid', []),
    (114, 'json', -1, 'U', 199, 'json', ['JSON']),
    (700, 'float4', 4, 'N', 1021, 'real', ['FLOAT']),
    (701, 'float8', 8, 'N', 1022, 'double precision', ['DOUBLE']),
    (1042, 'bpchar', -1, 'S', 1014, 'character', []),
    (1043, 'varchar', -1, 'S', 1015, 'character varying', ['VARCHAR']),
    (1082, 'date', 4, 'D', 1182, 'date', ['DATE']),
    (1083, 'time', 8, 'D', 1183, 'time without time zone', ['TIME', 'TIME_NS']),
    (1114, 'timestamp', 8, 'D', 1115, 'timestamp without time zone', ['TIMESTAMP', 'TIMESTAMP_S', 'TIMESTAMP_MS', 'TIMESTAMP_NS']),
    (1184, 'timestamptz', 8, 'D', 1185, 'timestamp with time zone', ['TIMESTAMP WITH TIME ZONE', 'TIMESTAMPTZ_NS']),
    (1186, 'interval', 16, 'T', 1187, 'interval', ['INTERVAL']),
    (1266, 'timetz', 12, 'D', 1270, 'time with time zone', ['TIME WITH TIME ZONE']),
    (1562, 'varbit', -1, 'V', 1563, 'bit varying', ['BIT']),
    (1700, 'numeric', -1, 'N', 1231, 'numeric', ['DECIMAL', 'HUGEINT', 'UHUGEINT', 'UBIGINT', 'BIGNUM']),
    (2249, 'record', -1, 'P', 2287, 'record', ['STRUCT', 'MAP', 'TUPLE']),
    (2950, 'uuid', 16, 'U', 2951, 'uuid', ['UUID']),
    (3802, 'jsonb', -1, 'U', 3807, 'jsonb', []);

CREATE VIEW pg_type AS
SELECT oid, typname, 11::BIGINT AS typnamespace, 10::BIGINT AS typowner, typlen, typlen > 0 AS typbyval,
       CASE typcategory WHEN 'P' THEN 'p' ELSE 'b' END AS typtype, typcategory, false AS typispreferred, true AS typisdefined, ',' AS typdelim,
       0::BIGINT AS typrelid, 0::BIGINT AS typelem, typarray, false AS typnotnull, 0::BIGINT AS typbasetype, -1 AS typtypmod,
       0 AS typndims, 0::BIGINT AS typcollation, NULL::VARCHAR AS typdefault, typname || 'in' AS typinput
FROM colonnade_catalog.main.types
UNION ALL
SELECT typarray, '_' || typname, 11, 10, -1, false, 'b', 'A', false, true, ',', 0, oid, 0, false, 0, -1, 0, 0, NULL, 'array_in'
FROM colonnade_catalog.main.types;

-- A DuckDB type's number: text where PostgreSQL has nothing like it.
CREATE MACRO base_oid(name) AS
    coalesce((SELECT oid FROM colonnade_catalog.main.types WHERE list_contains(duckdb, split_part(name, '(', 1))), 25);
CREATE MACRO type_oid(name) AS
    CASE WHEN name LIKE '%]'
        THEN (SELECT typarray FROM colonnade_catalog.main.types
              WHERE oid = colonnade_catalog.main.base_oid(regexp_replace(name, '(\[[0-9]*\])+$', '')))
        ELSE colonnade_catalog.main.base_oid(name) END;
CREATE MACRO type_modifier(name) AS
    CASE WHEN name LIKE 'DECIMAL(%)'
        THEN regexp_extract(name, '\((\d+)', 1)::INTEGER * 65536 + regexp_extract(name, ',\s*(\d+)\)', 1)::INTEGER + 4 ELSE -1 END;

CREATE MACRO format_type(type, modifier) AS
    (SELECT CASE WHEN type = 1700 AND modifier > 4
                 THEN 'numeric(' || ((modifier - 4) // 65536) || ',' || ((modifier - 4) % 65536) || ')' ELSE min(name) END
     FROM (SELECT sql_name AS name FROM colonnade_catalog.main.types WHERE oid = type
           UNION ALL SELECT sql_name || '[]' FROM colonnade_catalog.main.types WHERE typarray = type));

CREATE VIEW pg_namespace AS
SELECT oid::BIGINT AS oid, schema_name AS nspname, 10::BIGINT AS nspowner, NULL::VARCHAR[] AS nspacl
FROM duckdb_schemas() WHERE database_name = current_database() AND NOT internal OR database_name = current_database() AND schema_name = 'main'
UNION ALL SELECT 11, 'pg_catalog', 10, NULL;

CREATE MACRO schema_number(schema) AS
    (SELECT min(oid)::BIGINT FROM duckdb_schemas() WHERE database_name = current_database() AND schema_name = schema);

CREATE VIEW relations AS
SELECT table_oid AS oid, table_name AS name, schema_oid AS namespace, 'r' AS kind, column_count AS columns, estimated_size AS rows,
       temporary
FROM duckdb_tables() WHERE database_name = current_database()
UNION ALL
SELECT view_oid, view_name, schema_oid, 'v', column_count, 0, temporary
FROM duckdb_views() WHERE database_name = current_database() AND NOT internal
UNION ALL
SELECT sequence_oid, sequence_name, schema_oid, 'S', 0, 0, temporary
FROM duckdb_sequences() WHERE database_name = current_database();

CREATE VIEW pg_class AS
SELECT oid::BIGINT AS oid, name AS relname, namespace::BIGINT AS relnamespace, 0::BIGINT AS reltype, 0::BIGINT AS reloftype,
       10::BIGINT AS relowner, 0::BIGINT AS relam, 0::BIGINT AS relfilenode, 0::BIGINT AS reltablespace, 0 AS relpages,
       rows::FLOAT AS reltuples, 0::BIGINT AS reltoastrelid, false AS relhasindex, false AS relisshared,
       CASE WHEN temporary THEN 't' ELSE 'p' END AS relpersistence, kind AS relkind, columns AS relnatts, 0 AS relchecks,
       false AS relhasrules, false AS relhastriggers, false AS relhassubclass, false AS relrowsecurity, false AS relforcerowsecurity,
       true AS relispopulated, 'd' AS relreplident, false AS relispartition, NULL::VARCHAR[] AS relacl, NULL::VARCHAR[] AS reloptions,
       NULL::VARCHAR AS relpartbound, false AS relhasoids
FROM colonnade_catalog.main.relations;

CREATE VIEW pg_attribute AS
SELECT table_oid::BIGINT AS attrelid, column_name AS attname, colonnade_catalog.main.type_oid(data_type) AS atttypid, -1 AS attstattarget,
       -1 AS attlen, column_index::SMALLINT AS attnum, 0 AS attndims, colonnade_catalog.main.type_modifier(data_type) AS atttypmod,
       NOT is_nullable AS attnotnull, column_default IS NOT NULL AS atthasdef, false AS atthasmissing, '' AS attidentity,
       '' AS attgenerated, false AS attisdropped, true AS attislocal, 0 AS attinhcount, 0::BIGINT AS attcollation,
       NULL::VARCHAR[] AS attacl, NULL::VARCHAR[] AS attoptions, 'p' AS attstorage, '' AS attcompression
FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal;

CREATE VIEW pg_attrdef AS
SELECT table_oid::BIGINT * 65536 + column_index AS oid, table_oid::BIGINT AS adrelid, column_index::SMALLINT AS adnum, column_default AS adbin
FROM duckdb_columns() WHERE database_name = current_database() AND NOT internal AND column_default IS NOT NULL;

CREATE VIEW pg_database AS
SELECT database_oid::BIGINT AS oid, database_name AS datname, 10::BIGINT AS datdba, 6 AS encoding, 'c' AS datlocprovider, 'C' AS datcollate,
       'C' AS datctype, NULL::VARCHAR AS daticulocale, NULL::VARCHAR[] AS datacl, true AS datallowconn, false AS datistemplate,
       -1 AS datconnlimit, 0::BIGINT AS dattablespace
FROM duckdb_databases() WHERE NOT internal AND database_name <> 'colonnade_catalog';

CREATE VIEW pg_am AS SELECT 2::BIGINT AS oid, 'heap' AS amname, 't' AS amtype LIMIT 0;
CREATE VIEW pg_range AS SELECT 0::BIGINT AS rngtypid, 0::BIGINT AS rngsubtype, 0::BIGINT AS rngmultitypid LIMIT 0;
CREATE VIEW pg_collation AS SELECT 0::BIGINT AS oid, '' AS collname, 0::BIGINT AS collnamespace LIMIT 0;
CREATE VIEW pg_policy AS
SELECT '' AS polname, true AS polpermissive, []::BIGINT[] AS polroles, 0::BIGINT AS polrelid, '' AS polqual, '' AS polwithcheck, '' AS polcmd LIMIT 0;
CREATE VIEW pg_inherits AS SELECT 0::BIGINT AS inhrelid, 0::BIGINT AS inhparent, 0 AS inhseqno, false AS inhdetachpending LIMIT 0;
CREATE VIEW pg_statistic_ext AS
SELECT 0::BIGINT AS oid, 0::BIGINT AS stxrelid, 0::BIGINT AS stxnamespace, '' AS stxname, []::VARCHAR[] AS stxkind, '' AS stxkeys, 0 AS stxstattarget
LIMIT 0;
CREATE VIEW pg_publication AS SELECT 0::BIGINT AS oid, '' AS pubname, false AS puballtables LIMIT 0;
CREATE VIEW pg_publication_rel AS
SELECT 0::BIGINT AS oid, 0::BIGINT AS prpubid, 0::BIGINT AS prrelid, '' AS prqual, []::SMALLINT[] AS prattrs LIMIT 0;
CREATE VIEW pg_publication_namespace AS SELECT 0::BIGINT AS oid, 0::BIGINT AS pnpubid, 0::BIGINT AS pnnspid LIMIT 0;
CREATE VIEW pg_trigger AS
SELECT 0::BIGINT AS oid, 0::BIGINT AS tgrelid, '' AS tgname, false AS tgisinternal, '' AS tgenabled, 0::BIGINT AS tgparentid,
       0::BIGINT AS tgconstraint LIMIT 0;
CREATE VIEW pg_roles AS
SELECT 10::BIGINT AS oid, current_user AS rolname, false AS rolsuper, true AS rolinherit, false AS rolcreaterole, false AS rolcreatedb,
       true AS rolcanlogin, -1 AS rolconnlimit, NULL::TIMESTAMP AS rolvaliduntil, false AS rolreplication, false AS rolbypassrls;
CREATE VIEW pg_auth_members AS SELECT 0::BIGINT AS roleid, 0::BIGINT AS member, 0::BIGINT AS grantor, false AS admin_option LIMIT 0;
CREATE VIEW pg_language AS SELECT 14::BIGINT AS oid, 'sql' AS lanname;
CREATE VIEW pg_proc AS
SELECT function_oid::BIGINT AS oid, function_name AS proname, colonnade_catalog.main.schema_number(schema_name) AS pronamespace, 'f' AS prokind,
       10::BIGINT AS proowner, 14::BIGINT AS prolang, 25::BIGINT AS prorettype, array_to_string(parameters, ', ') AS proargs, 'v' AS provolatile,
       false AS prosecdef, NULL::VARCHAR[] AS proacl, macro_definition AS prosrc
FROM duckdb_functions() WHERE database_name = current_database() AND NOT internal;

CREATE MACRO version() AS 'PostgreSQL 15.0 (Colonnade, DuckDB ' || system.main.version() || ')';
-- In FROM, where PostgreSQL takes any function.
CREATE MACRO current_schema() AS TABLE SELECT current_schema() AS current_schema;
CREATE MACRO current_database() AS TABLE SELECT current_database() AS current_database;
CREATE MACRO pg_get_userbyid(role) AS current_user;
CREATE MACRO pg_table_is_visible(relation) AS
    relation IN (SELECT oid FROM colonnade_catalog.main.relations
                 WHERE namespace = colonnade_catalog.main.schema_number(current_schema()));
CREATE MACRO pg_get_viewdef(view, pretty) AS (SELECT min(sql) FROM duckdb_views() WHERE view_oid = view),
    (view) AS (SELECT min(sql) FROM duckdb_views() WHERE view_oid = view);
CREATE MACRO pg_get_serial_sequence(relation, attribute) AS NULL::VARCHAR;
CREATE MACRO to_regtype(type) AS (SELECT min(oid) FROM colonnade_catalog.main.pg_type WHERE typname = type);
CREATE MACRO array_upper(list, dimension) AS len(list);
CREATE MACRO array_lower(list, dimension) AS 1;
CREATE MACRO generate_subscripts(list, dimension) AS unnest(range(1, len(list) + 1));
CREATE MACRO pg_get_statisticsobjdef_columns(statistics) AS '';
CREATE MACRO pg_get_function_result(function) AS '';
CREATE MACRO pg_get_function_arguments(function) AS (SELECT min(proargs) FROM colonnade_catalog.main.pg_proc WHERE oid = function);
CREATE MACRO pg_get_indexdef(index) AS '', (index, position, pretty) AS '';
CREATE MACRO pg_encoding_to_char(encoding) AS 'UTF8';
CREATE MACRO pg_relation_is_publishable(relation) AS false;
CREATE MACRO pg_get_expr(node, relation) AS node, (node, relation, pretty) AS node;
CREATE MACRO array_to_string(list, separator) AS list_aggregate(list, 'string_agg', separator);
CREATE MACRO pg_backend_pid() AS 0;
CREATE MACRO pg_is_in_recovery() AS false;
CREATE MACRO pg_advisory_unlock_all() AS NULL;
CREATE MACRO set_config(name, value, is_local) AS value;
CREATE MACRO quote_ident(name) AS '"' || replace(name, '"', '""') || '"';
