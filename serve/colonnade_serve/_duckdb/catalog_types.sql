-- PostgreSQL's catalog of the current database, as PostgreSQL's clients query it. DuckDB's own views with these names have other type
-- numbers, and show all databases together.
--
-- Names are short here: `qualified.py` creates these objects with the database and schema of each name. An object of the catalog comes before
-- one of DuckDB's with the same name, unless `system.main.` is before it. Each variant of a macro is a statement of its own.

CREATE TYPE name AS VARCHAR;
CREATE TYPE jsonb AS JSON;
-- Lists that count from 0. Clients see numbers separated by spaces. DuckDB does not keep the name of a type, and a user's list may have
-- the same type. So only the type of the catalog's vectors depends on variables, which `catalog.py` sets to find their columns. The same is
-- done for names, because an array of names has its own type, and for arrays of numbers (asyncpg, serve/duckdb/src/catalog.rs).
CREATE TYPE int2vector AS USMALLINT[];
CREATE TYPE oidvector AS UINTEGER[];
CREATE MACRO as_int2vector(numbers) AS coalesce(numbers::USMALLINT[], getvariable('colonnade_vectors'));
CREATE MACRO as_name(word) AS coalesce(word::VARCHAR, getvariable('colonnade_names'));
CREATE MACRO as_oids(numbers) AS coalesce(numbers::UBIGINT[], getvariable('colonnade_oid_arrays'));
CREATE MACRO as_oidvector(numbers) AS coalesce(numbers::UINTEGER[], getvariable('colonnade_oids'));
-- A function: text that can also be compared with numbers. Clients see the name (`catalog.py`). No function has a number.
CREATE TYPE regproc AS UNION(regproc VARCHAR, oid BIGINT);
CREATE MACRO function_named(name) AS name::VARCHAR::regproc;

-- The name of a schema for clients. `main_name` is their name of DuckDB's `main` (`engine.py`): `public`, unless another schema has this name.
CREATE MACRO client_schema(place) AS CASE place WHEN 'main' THEN main_name() ELSE place END;
-- The reverse, for names that clients give.
CREATE MACRO engine_schema(place) AS CASE place WHEN main_name() THEN 'main' ELSE place END;

-- Clients see two databases: the current one, and the one with temporary tables.
CREATE MACRO is_visible(database) AS database = current_database() OR database = 'temp';

-- PostgreSQL's types, with those of DuckDB that are shown as each of them.

CREATE TABLE types (oid BIGINT, typname VARCHAR, typlen INTEGER, typcategory VARCHAR, typarray BIGINT, sql_name VARCHAR, duckdb VARCHAR[]);
INSERT INTO types VALUES
    (16, 'bool', 1, 'B', 1000, 'boolean', ['BOOLEAN']),
    (17, 'bytea', -1, 'U', 1001, 'bytea', ['BLOB', 'GEOMETRY']),
    (18, 'char', 1, 'Z', 1002, '"char"', []),
    (19, 'name', 64, 'S', 1003, 'name', []),
    (22, 'int2vector', -1, 'A', 1006, 'int2vector', []),
    (24, 'regproc', 4, 'N', 1008, 'regproc', []),
    (30, 'oidvector', -1, 'A', 1013, 'oidvector', []),
    (20, 'int8', 8, 'N', 1016, 'bigint', ['BIGINT', 'UINTEGER']),
    (21, 'int2', 2, 'N', 1005, 'smallint', ['SMALLINT', 'TINYINT', 'UTINYINT']),
    (23, 'int4', 4, 'N', 1007, 'integer', ['INTEGER', 'USMALLINT']),
    (25, 'text', -1, 'S', 1009, 'text', []),
    (26, 'oid', 4, 'N', 1028, 'oid', []),
    (114, 'json', -1, 'U', 199, 'json', ['JSON']),
    (705, 'unknown', -2, 'X', 0, 'unknown', []),
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
    (1560, 'bit', -1, 'V', 1561, 'bit', []),
    (1562, 'varbit', -1, 'V', 1563, 'bit varying', ['BIT']),
    (1700, 'numeric', -1, 'N', 1231, 'numeric', ['DECIMAL', 'HUGEINT', 'UHUGEINT', 'UBIGINT', 'BIGNUM']),
    (2205, 'regclass', 4, 'N', 2210, 'regclass', []),
    (2206, 'regtype', 4, 'N', 2211, 'regtype', []),
    (2249, 'record', -1, 'P', 2287, 'record', ['STRUCT', 'MAP', 'TUPLE']),
    (2276, 'any', 4, 'P', 0, '"any"', []),
    (2278, 'void', 4, 'P', 0, 'void', []),
    (2279, 'trigger', 4, 'P', 0, 'trigger', []),
    (2950, 'uuid', 16, 'U', 2951, 'uuid', ['UUID']),
    (3802, 'jsonb', -1, 'U', 3807, 'jsonb', []),
    (4089, 'regnamespace', 4, 'N', 4090, 'regnamespace', []),
    (3904, 'int4range', -1, 'R', 3905, 'int4range', ['int4range']),
    (3906, 'numrange', -1, 'R', 3907, 'numrange', ['numrange']),
    (3908, 'tsrange', -1, 'R', 3909, 'tsrange', ['tsrange']),
    (3910, 'tstzrange', -1, 'R', 3911, 'tstzrange', ['tstzrange']),
    (3912, 'daterange', -1, 'R', 3913, 'daterange', ['daterange']),
    (3926, 'int8range', -1, 'R', 3927, 'int8range', ['int8range']),
    (4451, 'int4multirange', -1, 'R', 6150, 'int4multirange', ['int4multirange']),
    (4532, 'nummultirange', -1, 'R', 6151, 'nummultirange', ['nummultirange']),
    (4533, 'tsmultirange', -1, 'R', 6152, 'tsmultirange', ['tsmultirange']),
    (4534, 'tstzmultirange', -1, 'R', 6153, 'tstzmultirange', ['tstzmultirange']),
    (4535, 'datemultirange', -1, 'R', 6155, 'datemultirange', ['datemultirange']),
    (4536, 'int8multirange', -1, 'R', 6157, 'int8multirange', ['int8multirange']),
    (650, 'cidr', -1, 'I', 651, 'cidr', ['cidr']),
    (774, 'macaddr8', 8, 'U', 775, 'macaddr8', ['macaddr8']),
    (829, 'macaddr', 6, 'U', 1040, 'macaddr', ['macaddr']),
    (869, 'inet', -1, 'I', 1041, 'inet', ['inet']);
