-- PostgreSQL's catalog of relations, keys and indexes.

-- Names in PostgreSQL's notation, with quotes where they are necessary (reserved words are in the manual's appendix "SQL Key Words").
CREATE MACRO quote_ident(word) AS
    CASE WHEN regexp_full_match(word, '[a-z_][a-z0-9_$]*') AND NOT regexp_full_match(word,
        'all|analyse|analyze|and|any|array|as|asc|asymmetric|both|case|cast|check|collate|column|constraint|create|'
        || 'current_catalog|current_date|current_role|current_time|current_timestamp|current_user|default|deferrable|desc|'
        || 'distinct|do|else|end|except|false|fetch|for|foreign|from|grant|group|having|in|initially|intersect|into|lateral|'
        || 'leading|limit|localtime|localtimestamp|not|null|offset|on|only|or|order|placing|primary|references|returning|'
        || 'select|session_user|some|symmetric|table|then|to|trailing|true|union|unique|user|using|variadic|when|where|window|'
        || 'with')
        THEN word ELSE '"' || replace(word, '"', '""') || '"' END;
CREATE MACRO unquoted(word) AS
    CASE WHEN word LIKE '"%"' THEN replace(word[2:-2], '""', '"') ELSE word END;
CREATE MACRO quoted_list(names) AS array_to_string([quote_ident(name) for name in names], ', ');
CREATE MACRO in_schema(place, thing) AS
    CASE place WHEN system.main.current_schema() THEN '' ELSE quote_ident(client_schema(place)) || '.' END
    || quote_ident(thing);

CREATE MACRO format_type(number, modifier) AS
    (SELECT min(CASE WHEN argument.number = 1700 AND argument.modifier > 4
                     THEN 'numeric(' || ((argument.modifier - 4) // 65536) || ',' || ((argument.modifier - 4) % 65536) || ')' ELSE known END)
     FROM (SELECT number, modifier) AS argument(number, modifier), (FROM by_sql UNION ALL
           SELECT oid, in_schema(schema, name) FROM user_types UNION ALL
           SELECT array_number(oid), in_schema(schema, name) || '[]' FROM user_types)
     WHERE oid = argument.number);

CREATE VIEW pg_namespace AS
SELECT oid::BIGINT AS oid, CASE database_name WHEN 'temp' THEN 'pg_temp_1' ELSE client_schema(schema_name) END AS nspname,
       10::BIGINT AS nspowner, NULL::VARCHAR[] AS nspacl
FROM duckdb_schemas() WHERE is_visible(database_name) AND (NOT internal OR schema_name = 'main')
UNION ALL SELECT 11, 'pg_catalog', 10, NULL
UNION ALL SELECT 13, 'information_schema', 10, NULL;

CREATE MACRO schema_number(place) AS
    (SELECT min(oid)::BIGINT FROM (SELECT place) AS argument(name), duckdb_schemas()
     WHERE database_name = current_database() AND schema_name = argument.name);

-- A constraint and its index have the same number. DuckDB has no such numbers. These exceed DuckDB's own numbers, and contain the table's.
CREATE MACRO table_number(number) AS CASE WHEN number > 1000000000 THEN (number - 1000000000) // 1024 ELSE number END;
-- The names that CREATE TABLE has given to a table's constraints, from the check that keeps them (`constraint_names.rs`).
-- Anyone may write such a check, so its text may be no JSON.
CREATE MACRO kept_text(expression) AS
    replace(regexp_extract(expression, '^\(''constraint names (\{.*\})'' IS NOT NULL\)$', 1), '''''', '''');
CREATE MACRO kept_names(expression) AS
    CASE WHEN expression LIKE '(''constraint names {%'
         THEN CASE WHEN json_valid(kept_text(expression)) THEN kept_text(expression) ELSE '{}' END END;
-- PostgreSQL's names of constraints without one.
CREATE MACRO constraint_name(kind, relation, columns, engine_name) AS
    CASE kind WHEN 'PRIMARY KEY' THEN relation || '_pkey'
              WHEN 'FOREIGN KEY' THEN relation || '_' || array_to_string(columns, '_') || '_fkey'
              ELSE engine_name END;
-- Names are kept by the places of the constraints among all of their kind. If the table has others by now, they are not known.
CREATE VIEW named_constraints AS
SELECT *, coalesce(json_extract_string(CASE json_array_length(names, '$.' || kind) WHEN alike THEN names END,
                                       '$.' || kind || '[' || (place - 1) || ']'),
                   constraint_name(constraint_type, table_name, constraint_column_names, constraint_name)) AS name
FROM (SELECT *, row_number() OVER (PARTITION BY database_oid, table_oid, kind ORDER BY constraint_index) AS place,
             count(*) FILTER (kept IS NULL) OVER (PARTITION BY database_oid, table_oid, kind) AS alike,
             max(kept) OVER (PARTITION BY database_oid, table_oid) AS names
      FROM (SELECT *, CASE constraint_type WHEN 'PRIMARY KEY' THEN 'p' WHEN 'UNIQUE' THEN 'u' WHEN 'FOREIGN KEY' THEN 'f'
                                           WHEN 'NOT NULL' THEN 'n' ELSE 'c' END AS kind,
                   kept_names(expression) AS kept
            FROM duckdb_constraints() WHERE is_visible(database_name)))
WHERE kept IS NULL;

CREATE VIEW declared AS
SELECT 1000000000 + table_oid * 1024 + row_number() OVER (PARTITION BY table_oid ORDER BY constraint_index) AS oid,
       name, database_name = 'temp' AS temporary,
       schema_oid AS namespace, schema_name AS schema, table_oid AS relation, table_name AS relation_name, kind,
       [place + 1 for place in constraint_column_indexes] AS columns, constraint_column_names AS column_names, expression,
       referenced_table, referenced_column_names
FROM named_constraints WHERE kind <> 'n';

CREATE VIEW constraints AS
SELECT d.*, k.oid AS key, k.relation AS referenced,
       [k.columns[list_position(k.column_names, name)] for name in d.referenced_column_names] AS referenced_columns
FROM declared d
LEFT JOIN declared k
    ON d.kind = 'f' AND k.kind IN ('p', 'u') AND k.namespace = d.namespace AND k.relation_name = d.referenced_table
       AND list_sort(k.column_names) = list_sort(d.referenced_column_names);

CREATE VIEW definitions AS
SELECT oid, CASE kind WHEN 'p' THEN 'PRIMARY KEY (' WHEN 'u' THEN 'UNIQUE (' WHEN 'c' THEN 'CHECK (' ELSE 'FOREIGN KEY (' END
            || CASE kind WHEN 'c' THEN expression ELSE quoted_list(column_names) END || ')'
            || CASE kind WHEN 'f' THEN ' REFERENCES ' || in_schema(schema, referenced_table)
                                       || '(' || quoted_list(referenced_column_names) || ')' ELSE '' END AS definition
FROM declared;

CREATE VIEW indexes AS
SELECT oid, name, temporary, namespace, schema, relation, relation_name, kind = 'p' AS is_primary, true AS is_unique, columns,
       [quote_ident(name) for name in column_names] AS elements
FROM declared WHERE kind IN ('p', 'u')
UNION ALL
SELECT index_oid, index_name, database_name = 'temp', schema_oid, schema_name, table_oid, table_name, is_primary, is_unique,
       [coalesce(list_position(names, unquoted(element)), 0) for element in elements], elements
FROM (SELECT i.*, -- Expressions are in parentheses; those that are not a call are in two pairs.
             [regexp_replace(CASE WHEN element LIKE '((%))' THEN element[2:-2] ELSE element END, '^\((\w+\([^()]*\))\)$', '\1')
              for element in expressions::VARCHAR[]] AS elements,
             (SELECT list(column_name ORDER BY column_index) FROM duckdb_columns() c WHERE c.table_oid = i.table_oid) AS names
      FROM duckdb_indexes() i WHERE is_visible(database_name));

-- The catalog's own relations to which other relations refer, with PostgreSQL's numbers.
CREATE TABLE own_relations (oid BIGINT, name VARCHAR);
INSERT INTO own_relations VALUES
    (1213, 'pg_tablespace'), (1247, 'pg_type'), (1249, 'pg_attribute'), (1255, 'pg_proc'), (1259, 'pg_class'), (1262, 'pg_database'),
    (2601, 'pg_am'), (2604, 'pg_attrdef'), (2606, 'pg_constraint'), (2608, 'pg_depend'), (2609, 'pg_description'), (2610, 'pg_index'),
    (2615, 'pg_namespace'), (2616, 'pg_opclass'), (2618, 'pg_rewrite'), (2620, 'pg_trigger'), (3501, 'pg_enum'), (2224, 'pg_sequence');

-- Everything with a number in pg_class.
CREATE VIEW relations AS
SELECT table_oid AS oid, table_name AS name, schema_oid AS namespace, schema_name AS schema, 'r' AS kind, column_count AS columns,
       estimated_size AS rows, temporary,
       check_constraint_count - contains(sql, 'CHECK((''constraint names {')::INTEGER AS checks, index_count > 0 AS is_indexed
FROM duckdb_tables() WHERE is_visible(database_name)
UNION ALL
SELECT view_oid, view_name, schema_oid, schema_name, 'v', column_count, 0, temporary, 0, false
FROM duckdb_views() WHERE is_visible(database_name) AND NOT internal
UNION ALL
SELECT sequence_oid, sequence_name, schema_oid, schema_name, 'S', 0, 0, temporary, 0, false
FROM duckdb_sequences() WHERE is_visible(database_name)
UNION ALL
SELECT index_oid, index_name, schema_oid, schema_name, 'i', 1, 0, database_name = 'temp', 0, false
FROM duckdb_indexes() WHERE is_visible(database_name)
UNION ALL
SELECT oid, name, namespace, schema, 'i', len(column_names), 0, temporary, 0, false
FROM declared WHERE kind IN ('p', 'u')
UNION ALL
SELECT relid, name, namespace, schema, 'c', len(fields), 0, false, 0, false FROM composites
UNION ALL
SELECT oid, name, 11, 'pg_catalog', 'r', 0, 0, false, 0, false FROM own_relations;

CREATE VIEW pg_class AS
SELECT oid::BIGINT AS oid, name AS relname, namespace::BIGINT AS relnamespace,
       CASE kind WHEN 'c' THEN oid + 536870912 ELSE 0 END::BIGINT AS reltype, 0::BIGINT AS reloftype,
       10::BIGINT AS relowner, CASE kind WHEN 'r' THEN 2 WHEN 'i' THEN 403 ELSE 0 END::BIGINT AS relam, 0::BIGINT AS relfilenode,
       0::BIGINT AS reltablespace, 0 AS relpages, rows::FLOAT AS reltuples, 0 AS relallvisible, 0::BIGINT AS reltoastrelid,
       is_indexed AS relhasindex, false AS relisshared,
       CASE WHEN temporary THEN 't' ELSE 'p' END AS relpersistence, kind AS relkind, columns AS relnatts, checks AS relchecks,
       false AS relhasrules, kind = 'r' AS relhastriggers, false AS relhassubclass, false AS relrowsecurity, false AS relforcerowsecurity,
       true AS relispopulated, 'd' AS relreplident, false AS relispartition, 0::BIGINT AS relrewrite, NULL::VARCHAR[] AS relacl,
       NULL::VARCHAR[] AS reloptions, NULL::VARCHAR AS relpartbound, false AS relhasoids
FROM relations;

-- The default classes of operators, with PostgreSQL's numbers. Texts of all types have the same.
CREATE TABLE operator_classes (oid BIGINT, name VARCHAR, type BIGINT, family BIGINT);
INSERT INTO operator_classes VALUES
    (1978, 'int4_ops', 23, 1976), (1979, 'int2_ops', 21, 1976), (1981, 'oid_ops', 26, 1989), (3122, 'date_ops', 1082, 434),
    (3123, 'float8_ops', 701, 1970), (3124, 'int8_ops', 20, 1976), (3125, 'numeric_ops', 1700, 1988), (3126, 'text_ops', 25, 1994),
    (3127, 'timestamptz_ops', 1184, 434), (3128, 'timestamp_ops', 1114, 434), (10000, 'array_ops', 2277, 397), (10003, 'bool_ops', 16, 424),
    (10006, 'bytea_ops', 17, 428), (10012, 'float4_ops', 700, 1970), (10022, 'interval_ops', 1186, 1982), (10028, 'name_ops', 19, 1994),
    (10034, 'record_ops', 2249, 2994), (10038, 'time_ops', 1083, 1996), (10041, 'timetz_ops', 1266, 2000), (10043, 'varbit_ops', 1562, 2002),
    (10065, 'uuid_ops', 2950, 2968), (10069, 'enum_ops', 3500, 3522), (10088, 'jsonb_ops', 3802, 4033);
CREATE VIEW pg_opclass AS
SELECT oid, 403::BIGINT AS opcmethod, name AS opcname, 11::BIGINT AS opcnamespace, 10::BIGINT AS opcowner, family AS opcfamily,
       type AS opcintype, true AS opcdefault, 0::BIGINT AS opckeytype
FROM operator_classes;
CREATE VIEW column_classes AS
SELECT table_oid, map(list(column_index::BIGINT), list(o.oid)) AS classes
FROM numbered_columns c
JOIN operator_classes o ON o.type = CASE WHEN data_type LIKE '%]' THEN 2277 WHEN data_type LIKE 'ENUM(%' THEN 3500 WHEN c.type IN (1043, 1042) THEN 25
                                         ELSE c.type END
GROUP BY table_oid;

CREATE VIEW pg_index AS
SELECT oid::BIGINT AS indexrelid, relation::BIGINT AS indrelid, len(columns)::SMALLINT AS indnatts, len(columns)::SMALLINT AS indnkeyatts,
       is_unique AS indisunique, false AS indnullsnotdistinct, is_primary AS indisprimary, false AS indisexclusion, true AS indimmediate,
       false AS indisclustered, true AS indisvalid, false AS indcheckxmin, true AS indisready, true AS indislive, false AS indisreplident,
       as_int2vector(columns) AS indkey, as_oidvector([0 for c in columns]) AS indcollation,
       as_oidvector([coalesce(map_extract_value(classes, c::BIGINT), 3126) for c in columns]) AS indclass,
       as_int2vector([0 for c in columns]) AS indoption,
       CASE WHEN list_contains(columns, 0) THEN array_to_string(elements, ', ') END AS indexprs, NULL::VARCHAR AS indpred
FROM indexes LEFT JOIN column_classes ON table_oid = relation;

CREATE VIEW pg_constraint AS
SELECT oid::BIGINT AS oid, name AS conname, namespace::BIGINT AS connamespace, kind AS contype, false AS condeferrable, false AS condeferred,
       true AS convalidated, relation::BIGINT AS conrelid, 0::BIGINT AS contypid,
       CASE kind WHEN 'c' THEN 0 WHEN 'f' THEN coalesce(key, 0) ELSE oid END::BIGINT AS conindid, 0::BIGINT AS conparentid,
       coalesce(referenced, 0)::BIGINT AS confrelid, CASE kind WHEN 'f' THEN 'a' ELSE ' ' END AS confupdtype,
       CASE kind WHEN 'f' THEN 'a' ELSE ' ' END AS confdeltype, CASE kind WHEN 'f' THEN 's' ELSE ' ' END AS confmatchtype,
       true AS conislocal, 0 AS coninhcount, true AS connoinherit, columns::SMALLINT[] AS conkey,
       CASE kind WHEN 'f' THEN referenced_columns END::SMALLINT[] AS confkey, expression AS conbin
FROM constraints;

-- The key on which a foreign key depends.
CREATE VIEW pg_depend AS
SELECT 2606::BIGINT AS classid, oid::BIGINT AS objid, 0 AS objsubid, 1259::BIGINT AS refclassid, key::BIGINT AS refobjid, 0 AS refobjsubid,
       'n' AS deptype
FROM constraints WHERE kind = 'f'
UNION ALL
-- The sequence of a column that numbers its rows.
SELECT 1259, s.sequence_oid, 0, 1259, c.table_oid, c.column_index, 'a'
FROM duckdb_columns() c JOIN duckdb_sequences() s
    ON s.database_name = c.database_name
       AND c.column_default IN ('nextval(''' || s.sequence_name || ''')', 'nextval(''' || s.schema_name || '.' || s.sequence_name || ''')')
WHERE is_visible(c.database_name) AND NOT c.internal;

-- Without comments on functions, because listing DuckDB's thousands of functions is slow.
CREATE VIEW pg_shdescription AS SELECT 0::BIGINT AS objoid, 0::BIGINT AS classoid, '' AS description LIMIT 0;

CREATE VIEW pg_attribute AS
SELECT table_oid::BIGINT AS attrelid, as_name(column_name) AS attname, type AS atttypid, -1 AS attstattarget,
       -1 AS attlen, column_index::SMALLINT AS attnum, 0 AS attndims, modifier AS atttypmod,
       NOT is_nullable AS attnotnull, coalesce(generation_expression, column_default) IS NOT NULL AS atthasdef, false AS atthasmissing,
       '' AS attidentity, CASE WHEN is_generated THEN 'v' ELSE '' END AS attgenerated, false AS attisdropped, true AS attislocal,
       0 AS attinhcount, 0::BIGINT AS attcollation, NULL::VARCHAR[] AS attacl, NULL::VARCHAR[] AS attoptions, 'p' AS attstorage,
       'i' AS attalign, false AS attbyval, -1 AS attcacheoff, '' AS attcompression
FROM numbered_columns
UNION ALL
-- The columns of indexes.
SELECT i.oid, as_name(coalesce(c.column_name, 'expr')), coalesce(c.type, 25), -1, -1, i.number::SMALLINT, 0, coalesce(c.modifier, -1), false, false, false, '', '',
       false, true, 0, 0, NULL, NULL, 'p', 'i', false, -1, ''
FROM (SELECT oid, relation, unnest(columns) AS place, unnest(range(1, len(columns) + 1)) AS number FROM indexes) i
LEFT JOIN numbered_columns c ON c.table_oid = i.relation AND c.column_index = i.place
UNION ALL
SELECT relid, as_name(name), type, -1, -1, number::SMALLINT, 0, modifier, false, false, false, '', '', false, true, 0, 0, NULL, NULL, 'p', 'i', false, -1, ''
FROM attributes;

-- A default in PostgreSQL's form. Tools know by it that a column numbers its rows.
CREATE MACRO shown_default(expression) AS
    regexp_replace(expression, '^\(?nextval\(''(main\.)?(.*)''\)\)?$', 'nextval(''\2''::regclass)');
CREATE VIEW pg_attrdef AS
SELECT table_oid::BIGINT * 65536 + column_index AS oid, table_oid::BIGINT AS adrelid, column_index::SMALLINT AS adnum,
       coalesce(generation_expression, shown_default(column_default)) AS adbin
FROM duckdb_columns() WHERE is_visible(database_name) AND NOT internal AND adbin IS NOT NULL;

CREATE VIEW pg_database AS
SELECT database_oid::BIGINT AS oid, database_name AS datname, 10::BIGINT AS datdba, 6 AS encoding, 'c' AS datlocprovider, 'C' AS datcollate,
       'C' AS datctype, NULL::VARCHAR AS daticulocale, NULL::VARCHAR[] AS datacl, true AS datallowconn, false AS datistemplate,
       -1 AS datconnlimit, 1663::BIGINT AS dattablespace
FROM duckdb_databases() WHERE NOT internal AND database_name <> 'colonnade_catalog';

CREATE VIEW pg_am AS FROM (VALUES (2::BIGINT, 'heap', 't'), (403, 'btree', 'i')) AS pg_am(oid, amname, amtype);
CREATE VIEW pg_tablespace AS
SELECT 1663::BIGINT AS oid, 'pg_default' AS spcname, 10::BIGINT AS spcowner, NULL::VARCHAR[] AS spcacl, NULL::VARCHAR[] AS spcoptions;
CREATE VIEW pg_sequence AS
SELECT sequence_oid::BIGINT AS seqrelid, 20::BIGINT AS seqtypid, start_value AS seqstart, increment_by AS seqincrement, max_value AS seqmax,
       min_value AS seqmin, 1::BIGINT AS seqcache, cycle AS seqcycle
FROM duckdb_sequences() WHERE is_visible(database_name);
CREATE VIEW pg_extension AS
SELECT 0::BIGINT AS oid, '' AS extname, 10::BIGINT AS extowner, 11::BIGINT AS extnamespace, false AS extrelocatable, '' AS extversion LIMIT 0;
CREATE VIEW pg_prepared_xacts AS
SELECT 0::BIGINT AS transaction, '' AS gid, NULL::TIMESTAMPTZ AS prepared, '' AS owner, '' AS database LIMIT 0;
CREATE VIEW pg_range AS
SELECT rngtypid::BIGINT AS rngtypid, rngsubtype::BIGINT AS rngsubtype, rngmultitypid::BIGINT AS rngmultitypid
FROM (VALUES (3904, 23, 4451), (3906, 1700, 4532), (3908, 1114, 4533), (3910, 1184, 4534), (3912, 1082, 4535), (3926, 20, 4536))
     AS ranges(rngtypid, rngsubtype, rngmultitypid);
CREATE VIEW pg_collation AS
SELECT 0::BIGINT AS oid, '' AS collname, 0::BIGINT AS collnamespace, 10::BIGINT AS collowner, '' AS collprovider, true AS collisdeterministic,
       0 AS collencoding, '' AS collcollate, '' AS collctype, '' AS colliculocale, '' AS collversion LIMIT 0;
CREATE VIEW pg_policy AS
SELECT '' AS polname, true AS polpermissive, []::BIGINT[] AS polroles, 0::BIGINT AS polrelid, '' AS polqual, '' AS polwithcheck, '' AS polcmd LIMIT 0;
CREATE VIEW pg_inherits AS SELECT 0::BIGINT AS inhrelid, 0::BIGINT AS inhparent, 0 AS inhseqno, false AS inhdetachpending LIMIT 0;
CREATE VIEW pg_statistic_ext AS
SELECT 0::BIGINT AS oid, 0::BIGINT AS stxrelid, 0::BIGINT AS stxnamespace, '' AS stxname, []::VARCHAR[] AS stxkind, '' AS stxkeys, 0 AS stxstattarget
LIMIT 0;
CREATE VIEW pg_publication AS SELECT 0::BIGINT AS oid, '' AS pubname, 10::BIGINT AS pubowner, false AS puballtables, false AS pubinsert, false AS pubupdate,
       false AS pubdelete, false AS pubtruncate, false AS pubviaroot LIMIT 0;
CREATE VIEW pg_publication_rel AS
SELECT 0::BIGINT AS oid, 0::BIGINT AS prpubid, 0::BIGINT AS prrelid, '' AS prqual, []::SMALLINT[] AS prattrs LIMIT 0;
CREATE VIEW pg_publication_namespace AS SELECT 0::BIGINT AS oid, 0::BIGINT AS pnpubid, 0::BIGINT AS pnnspid LIMIT 0;
CREATE VIEW pg_trigger AS
SELECT 0::BIGINT AS oid, 0::BIGINT AS tgrelid, '' AS tgname, false AS tgisinternal, '' AS tgenabled, 0::BIGINT AS tgparentid,
       0::BIGINT AS tgconstraint LIMIT 0;
CREATE VIEW pg_roles AS
SELECT 10::BIGINT AS oid, current_user() AS rolname, false AS rolsuper, true AS rolinherit, false AS rolcreaterole, false AS rolcreatedb,
       true AS rolcanlogin, -1 AS rolconnlimit, NULL::TIMESTAMP AS rolvaliduntil, false AS rolreplication, false AS rolbypassrls;
CREATE VIEW pg_auth_members AS SELECT 0::BIGINT AS roleid, 0::BIGINT AS member, 0::BIGINT AS grantor, false AS admin_option LIMIT 0;
-- `tableoid` is the number of the relation itself. In PostgreSQL, `*` does not include it.
CREATE VIEW pg_language AS
SELECT oid, name AS lanname, 10::BIGINT AS lanowner, oid <> 14 AS lanispl, true AS lanpltrusted, 0::BIGINT AS lanplcallfoid,
       0::BIGINT AS laninline, 0::BIGINT AS lanvalidator, NULL::VARCHAR[] AS lanacl, 2612::BIGINT AS tableoid
FROM (VALUES (14::BIGINT, 'sql'), (16384, 'python'), (16385, 'python_map')) AS languages(oid, name);

-- The functions in Python, from the comments of their macros (`function_entry.py`). Users can write any comment, so a wrong one gives NULL,
-- and a definition that its macro does not call is left out.
CREATE VIEW colonnade_functions AS
SELECT id, schema, name, kind, language, parameters, results, volatility, strict, parallel, coalesce(style, 'numpy') AS style,
       source, created_by, try_cast(created_at AS TIMESTAMPTZ) AS created_at, comment, mac
FROM (SELECT schema_name AS schema, function_name AS name, json_extract_string(comment, '$.comment') AS comment, calls,
             unnest(from_json(json_extract(comment, '$.colonnade_functions'), '[{"id":"VARCHAR","kind":"VARCHAR","language":"VARCHAR","parameters":[{"name":"VARCHAR",
                 "type":"VARCHAR","default":"VARCHAR","scalar":"BOOLEAN"}],"results":[["VARCHAR"]],"volatility":"VARCHAR","strict":"BOOLEAN",
                 "parallel":"VARCHAR","style":"VARCHAR","source":"VARCHAR","created_by":"VARCHAR","created_at":"VARCHAR","mac":"VARCHAR"}]'), max_depth := 2)
      FROM (SELECT schema_name, function_name, comment, string_agg(macro_definition) AS calls
            FROM duckdb_functions()
            WHERE database_name = current_database() AND NOT internal AND starts_with(comment, '{"colonnade_functions":') AND json_valid(comment)
            GROUP BY ALL))
WHERE regexp_full_match(id, '[0-9a-f]{16}') AND contains(calls, '''' || id || '''');
-- Types as `pg_get_functiondef` writes them: CREATE FUNCTION reads the same types. Names in quotes stay as they are.
CREATE MACRO shown_type(type) AS
    CASE WHEN type = 'FLOAT' THEN 'real' WHEN type = 'DOUBLE' THEN 'double precision' WHEN type = 'VARCHAR' THEN 'text'
         WHEN contains(type, '"') OR contains(type, '''') THEN type
         ELSE regexp_replace(lower(type), '^decimal', 'numeric') END;
-- Parameters of any types, and columns of any, are a star.
CREATE MACRO shown_column(name, type) AS
    CASE type WHEN 'ANY' THEN '*' ELSE trim(quote_ident(name) || ' ' || shown_type(type)) END;
CREATE MACRO base_type(type) AS split_part(regexp_replace(type, '(\[[0-9]*\])+$', ''), '(', 1);
CREATE MACRO type_number(type, numbers, arrays) AS
    CASE WHEN type LIKE '%]' THEN coalesce(map_extract_value(arrays, base_type(type)), 1009)
         ELSE coalesce(map_extract_value(numbers, base_type(type)), 25) END;
-- Their numbers are above those of DuckDB's objects, and the same in all sessions. A type that PostgreSQL has not is text.
CREATE VIEW python_procedures AS
SELECT ('0x' || f.id[:7])::BIGINT + 2147483648 AS oid, f.*, [p.name for p in f.parameters] AS names,
       [type_number(p.type, numbers, arrays) for p in f.parameters] AS types,
       [type_number(r[2], numbers, arrays) for r in f.results] AS result_types,
       [CASE p.type WHEN 'ANY' THEN '*' ELSE shown_type(p.type) END for p in f.parameters] AS shown_types,
       array_to_string([shown_column(p.name, p.type) || coalesce(' DEFAULT ' || p.default, '') for p in f.parameters], ', ') AS arguments,
       array_to_string([shown_column(p.name, p.type) for p in f.parameters], ', ') AS identity,
       CASE kind WHEN 'table' THEN 'TABLE(' || array_to_string([shown_column(r[1], r[2]) for r in f.results], ', ') || ')'
                 ELSE shown_type(f.results[1][2]) END AS result
FROM colonnade_functions f,
     (SELECT map(list(known), list(oid)) AS numbers, map(list(known), list(typarray)) AS arrays FROM by_duckdb);

CREATE VIEW pg_proc AS
SELECT function_oid::BIGINT AS oid, function_name AS proname, schema_number(schema_name) AS pronamespace, 'f' AS prokind,
       10::BIGINT AS proowner, 14::BIGINT AS prolang, CASE function_type WHEN 'table_macro' THEN 2249 ELSE 25 END::BIGINT AS prorettype,
       function_type = 'table_macro' AS proretset, len(parameters)::SMALLINT AS pronargs,
       as_oidvector([25 for name in parameters]) AS proargtypes,
       NULL::BIGINT[] AS proallargtypes, NULL::VARCHAR[] AS proargmodes, parameters AS proargnames,
       array_to_string(parameters, ', ') AS proargs, 'v' AS provolatile, 'u' AS proparallel, false AS prosecdef, false AS proisstrict,
       NULL::VARCHAR[] AS proacl, macro_definition AS prosrc, NULL::VARCHAR AS proargdefaults, 0::SMALLINT AS pronargdefaults,
       NULL::VARCHAR AS probin, NULL::VARCHAR[] AS proconfig, 100::FLOAT AS procost, 0::FLOAT AS prorows, 0::BIGINT AS provariadic,
       false AS proleakproof, NULL::VARCHAR AS prosqlbody, NULL::BIGINT[] AS protrftypes, 0::BIGINT AS xmin
FROM duckdb_functions()
WHERE database_name = current_database() AND NOT internal AND NOT coalesce(starts_with(comment, '{"colonnade_functions":'), false)
UNION ALL
SELECT oid, name, schema_number(schema), CASE kind WHEN 'aggregate' THEN 'a' ELSE 'f' END, 10,
       CASE language WHEN 'python_map' THEN 16385 ELSE 16384 END, CASE kind WHEN 'table' THEN 2249 ELSE result_types[1] END, kind = 'table',
       len(parameters)::SMALLINT, as_oidvector(types),
       CASE kind WHEN 'table' THEN types || result_types END, CASE kind WHEN 'table' THEN ['i' for name in names] || ['t' for r in results] END,
       CASE kind WHEN 'table' THEN names || [r[1] for r in results] ELSE names END, arguments, volatility, parallel, false, strict, NULL, source,
       CASE WHEN len([p for p in parameters if p.default IS NOT NULL]) > 0
            THEN array_to_string([p.default for p in parameters if p.default IS NOT NULL], ', ') END,
       len([p for p in parameters if p.default IS NOT NULL])::SMALLINT, NULL, NULL, 100, CASE kind WHEN 'table' THEN 1000 ELSE 0 END, 0,
       false, NULL, NULL, 0
FROM python_procedures;
CREATE VIEW pg_description AS
SELECT oid::BIGINT AS objoid, 1259::BIGINT AS classoid, 0 AS objsubid, comment AS description
FROM (SELECT table_oid AS oid, database_name, comment FROM duckdb_tables()
      UNION ALL SELECT view_oid, database_name, comment FROM duckdb_views()
      UNION ALL SELECT sequence_oid, database_name, comment FROM duckdb_sequences()
      UNION ALL SELECT index_oid, database_name, comment FROM duckdb_indexes())
WHERE is_visible(database_name) AND comment IS NOT NULL
UNION ALL
SELECT table_oid, 1259, column_index, comment
FROM duckdb_columns() WHERE is_visible(database_name) AND NOT internal AND comment IS NOT NULL
UNION ALL
SELECT oid, 1255, 0, comment FROM python_procedures WHERE comment IS NOT NULL;
