-- PostgreSQL's functions for its catalog, and its views for people. They use the relations of `catalog.sql`.
--
-- DuckDB puts a macro's arguments into its text, with the names of the caller's tables. Within a subquery that has a table of such a name,
-- an argument would be a column of that one. So a parameter stands only where no table of the macro is in scope: a subquery begins with
-- FROM (SELECT parameter) AS argument(...), and uses the columns of `argument`. No lambda uses a parameter either. `test_macros.py` checks all.

CREATE MACRO version() AS 'PostgreSQL 15.0 (Colonnade, DuckDB ' || system.main.version() || ')';
-- The session's user and process, which `engine.py` and the server set at its start. A client can change them, but no permission depends on them.
CREATE MACRO current_user() AS coalesce(getvariable('colonnade_user')::VARCHAR, 'duckdb');
CREATE MACRO session_user() AS coalesce(getvariable('colonnade_user')::VARCHAR, 'duckdb');
CREATE MACRO current_role() AS coalesce(getvariable('colonnade_user')::VARCHAR, 'duckdb');
CREATE MACRO pg_backend_pid() AS coalesce(getvariable('colonnade_process')::INTEGER, 0);
-- The client's search path while some of its schemas do not exist, or NULL (`session_settings.py`). DuckDB's path has information_schema then,
-- so that it has a schema.
CREATE MACRO awaited_path() AS [client_schema(place) for place in getvariable('colonnade_search_path')::VARCHAR[]];
CREATE MACRO on_path(place) AS
    place <> 'information_schema' OR coalesce(list_contains(getvariable('colonnade_search_path')::VARCHAR[], place), true);
-- PostgreSQL allows these functions in FROM too.
CREATE MACRO current_schema() AS
    CASE WHEN on_path(system.main.current_schema()) THEN client_schema(system.main.current_schema()) END;
CREATE MACRO current_schema() AS TABLE SELECT current_schema() AS current_schema;
CREATE MACRO current_database() AS system.main.current_database();
CREATE MACRO current_database() AS TABLE SELECT current_database() AS current_database;
CREATE MACRO pg_get_userbyid(role) AS current_user();
CREATE MACRO pg_table_is_visible(number) AS
    table_number(number) IN (
        SELECT oid FROM relations
        WHERE CASE WHEN temporary THEN kind <> 'i' ELSE schema IN (system.main.current_schema(), 'pg_catalog') END);
CREATE MACRO view_query(number) AS
    (SELECT min(regexp_replace(sql, '^CREATE (TEMP |TEMPORARY )?VIEW ("([^"]|"")*"|[^ "(])+ ?(\(.*?\) )?AS ', ''))
     FROM (SELECT number) AS argument(number), duckdb_views() WHERE view_oid = argument.number);
CREATE MACRO pg_get_viewdef(view) AS view_query(view);
CREATE MACRO pg_get_viewdef(view, pretty) AS view_query(view);
-- DuckDB's own names what a user's type is made of. A subquery with the argument could not have aggregates.
CREATE MACRO pg_typeof(expression) AS
    coalesce(map_extract_value((SELECT map(coalesce(list(duckdb), []), coalesce(list(in_schema(schema, name)), []))
                                FROM user_types u JOIN user_type_numbers n USING (duckdb) WHERE u.oid = n.oid),
                               regexp_replace(typeof(expression), '(\[[0-9]*\])+$', ''))
             || CASE WHEN typeof(expression) LIKE '%]' THEN '[]' ELSE '' END,
             lower(typeof(expression)));
-- The subscripts of vectors (`catalog.sql`) count from 0.
CREATE MACRO array_lower(list, dimension) AS CASE WHEN typeof(list) IN ('USMALLINT[]', 'UINTEGER[]') THEN 0 ELSE 1 END;
CREATE MACRO array_upper(list, dimension) AS (len(list) - 1 + array_lower(list, dimension))::INTEGER;
CREATE MACRO generate_subscripts(list, dimension) AS
    unnest(CASE array_lower(list, dimension) WHEN 0 THEN range(len(list)) ELSE range(1, len(list) + 1) END);
CREATE MACRO pg_get_statisticsobjdef_columns(statistics) AS '';
CREATE MACRO pg_get_function_result(function) AS
    coalesce((SELECT min(result) FROM (SELECT function) AS argument(number), python_procedures WHERE oid = argument.number),
             (SELECT min(CASE WHEN proretset THEN 'TABLE()' ELSE '' END)
              FROM (SELECT function) AS argument(number), pg_proc WHERE oid = argument.number));
CREATE MACRO pg_get_function_arguments(function) AS
    (SELECT min(proargs) FROM (SELECT function) AS argument(number), pg_proc WHERE oid = argument.number);
-- In the order of PostgreSQL's numbers, from 0 (`pg_enc`).
CREATE MACRO encoding_names() AS
    ['SQL_ASCII', 'EUC_JP', 'EUC_CN', 'EUC_KR', 'EUC_TW', 'EUC_JIS_2004', 'UTF8', 'MULE_INTERNAL',
     'LATIN1', 'LATIN2', 'LATIN3', 'LATIN4', 'LATIN5', 'LATIN6', 'LATIN7', 'LATIN8', 'LATIN9', 'LATIN10',
     'WIN1256', 'WIN1258', 'WIN866', 'WIN874', 'KOI8R', 'WIN1251', 'WIN1252', 'ISO_8859_5', 'ISO_8859_6', 'ISO_8859_7', 'ISO_8859_8',
     'WIN1250', 'WIN1253', 'WIN1254', 'WIN1255', 'WIN1257', 'KOI8U', 'SJIS', 'BIG5', 'GBK', 'UHC', 'GB18030', 'JOHAB', 'SHIFT_JIS_2004'];
CREATE MACRO pg_encoding_to_char(encoding) AS
    CASE WHEN encoding IS NOT NULL THEN coalesce(list_extract(encoding_names(), CASE WHEN encoding >= 0 THEN encoding + 1 ELSE 0 END), '') END;
-- Without the other names of an encoding. -1 is PostgreSQL's answer for an unknown name.
CREATE MACRO pg_char_to_encoding(name) AS
    CASE WHEN lower(name) = 'unicode' THEN 6
         WHEN name IS NOT NULL
         THEN coalesce(list_position(list_transform(encoding_names(), lambda known: replace(lower(known), '_', '')),
                                     regexp_replace(lower(name), '[^a-z0-9]', '', 'g')), 0)::INTEGER - 1 END;
CREATE MACRO getdatabaseencoding() AS 'UTF8';
CREATE MACRO pg_client_encoding() AS coalesce(getvariable('colonnade_client_encoding')::VARCHAR, 'UTF8');
CREATE MACRO pg_collation_is_visible(collation) AS true;
CREATE MACRO pg_statistics_obj_is_visible(statistics) AS true;
CREATE MACRO pg_relation_is_publishable(relation) AS false;
CREATE MACRO pg_get_expr(node, relation) AS node;
CREATE MACRO pg_get_expr(node, relation, pretty) AS node;
CREATE MACRO array_to_string(list, separator) AS list_aggregate(list, 'string_agg', separator);
CREATE MACRO pg_is_in_recovery() AS false;
CREATE MACRO pg_get_constraintdef(number) AS
    (SELECT min(definition) FROM (SELECT number) AS argument(number), definitions WHERE oid = argument.number);
CREATE MACRO pg_get_constraintdef(number, pretty) AS
    (SELECT min(definition) FROM (SELECT number) AS argument(number), definitions WHERE oid = argument.number);
CREATE MACRO index_statement(number) AS
    (SELECT min('CREATE ' || CASE WHEN is_unique THEN 'UNIQUE ' ELSE '' END || 'INDEX ' || quote_ident(name)
                || ' ON ' || quote_ident(client_schema(schema)) || '.' || quote_ident(relation_name)
                || ' USING btree (' || array_to_string(elements, ', ') || ')')
     FROM (SELECT number) AS argument(number), indexes WHERE oid = argument.number);
CREATE MACRO pg_get_indexdef(number) AS index_statement(number);
CREATE MACRO pg_get_indexdef(number, place, pretty) AS
    CASE place WHEN 0 THEN index_statement(number)
               ELSE (SELECT min(elements[argument.place])
                     FROM (SELECT number, place) AS argument(number, place), indexes WHERE oid = argument.number) END;
CREATE MACRO obj_description(number, catalog) AS
    (SELECT min(description)
     FROM (SELECT number, catalog) AS argument(number, catalog), pg_description d, own_relations o
     WHERE o.oid = d.classoid AND d.objoid = argument.number AND d.objsubid = 0 AND o.name = argument.catalog);
CREATE MACRO obj_description(number) AS
    (SELECT min(description)
     FROM (SELECT number) AS argument(number), pg_description d
     WHERE d.objoid = argument.number AND d.objsubid = 0);
CREATE MACRO col_description(number, place) AS
    (SELECT min(description) FROM (SELECT number, place) AS argument(number, place), pg_description
     WHERE objoid = argument.number AND objsubid = argument.place);
CREATE MACRO pg_sequence_last_value(number) AS
    (SELECT min(last_value) FROM (SELECT number) AS argument(number), duckdb_sequences() WHERE sequence_oid = argument.number);
CREATE MACRO nameconcatoid(name, number) AS name || '_' || number;
CREATE MACRO shobj_description(number, catalog) AS NULL::VARCHAR;
-- psql's list of relations uses it WITH ORDINALITY.
CREATE MACRO pg_partition_ancestors(number) AS TABLE SELECT number::BIGINT AS relid, 1 AS depth;
CREATE MACRO pg_partition_ancestors(number) AS number::BIGINT;
CREATE MACRO pg_get_triggerdef(trigger, pretty) AS NULL::VARCHAR;

-- The functions to which casts to regclass and similar types are rewritten (serve/duckdb/src/catalog/casts.rs). If several relations have the
-- name, the one in the current schema is meant, or else the one in the catalog.
CREATE MACRO words(given) AS
    [CASE WHEN word LIKE '"%' THEN unquoted(word) ELSE lower(word) END
     for word in regexp_extract_all(given, '"([^"]|"")*"|[^."\s]+')];
CREATE MACRO to_regclass(given) AS
    (SELECT oid FROM (SELECT words(given)) AS argument(parts), relations
     WHERE lower(name) = lower(argument.parts[-1]) AND schema = coalesce(engine_schema(argument.parts[-2]), schema)
     ORDER BY schema <> system.main.current_schema(), schema <> 'pg_catalog', kind = 'c', oid LIMIT 1);
-- The sequence of a column's default, with DuckDB's name of `main`: DuckDB's functions of sequences take it.
CREATE MACRO pg_get_serial_sequence(relation, attribute) AS
    (SELECT nullif(min(regexp_extract(column_default, '^\(?nextval\(''(.*)''\)\)?$', 1)), '')
     FROM (SELECT to_regclass(relation), attribute) AS argument(relation, attribute), duckdb_columns()
     WHERE table_oid = argument.relation AND column_name = argument.attribute);
-- The search path without this catalog, which is at its end.
CREATE MACRO current_schemas(implicit) AS
    CASE WHEN implicit THEN ['pg_catalog'] ELSE [] END 
    || [client_schema(place) for place in system.main.current_schemas(false)[:-2] if on_path(place)];

-- Sizes that DuckDB does not report are NULL.
CREATE MACRO pg_relation_size(relation) AS NULL::BIGINT;
CREATE MACRO pg_relation_size(relation, fork) AS NULL::BIGINT;
CREATE MACRO pg_table_size(relation) AS NULL::BIGINT;
CREATE MACRO pg_indexes_size(relation) AS NULL::BIGINT;
CREATE MACRO pg_total_relation_size(relation) AS NULL::BIGINT;
CREATE MACRO pg_tablespace_size(tablespace) AS NULL::BIGINT;
CREATE MACRO pg_database_size(database) AS
    (SELECT min(block_size * total_blocks)
     FROM (SELECT database::VARCHAR, try_cast(database AS BIGINT)) AS argument(name, number), pragma_database_size()
     WHERE database_name = coalesce((SELECT min(database_name) FROM duckdb_databases() WHERE database_oid = argument.number), argument.name));
-- PostgreSQL's rule (dbsize.c): the first unit in which the size is less than 10,240 bytes or, rounded, less than 10,240 units. `halves` is
-- the size in halves of a kB, rounded towards zero.
CREATE MACRO pg_size_rounded(halves, sign) AS
    CASE WHEN halves < 20479 THEN sign || (halves + 1) // 2 || ' kB'
         WHEN halves // 1024 < 20479 THEN sign || (halves // 1024 + 1) // 2 || ' MB'
         WHEN halves // 1048576 < 20479 THEN sign || (halves // 1048576 + 1) // 2 || ' GB'
         WHEN halves // 1073741824 < 20479 THEN sign || (halves // 1073741824 + 1) // 2 || ' TB'
         ELSE sign || (halves // 1099511627776 + 1) // 2 || ' PB' END;
CREATE MACRO pg_size_pretty(size) AS
    CASE WHEN size IS NULL THEN NULL
         WHEN size > -10240 AND size < 10240 THEN size || ' bytes'
         ELSE pg_size_rounded(abs(trunc(size)::HUGEINT) // 512, CASE WHEN size < 0 THEN '-' ELSE '' END) END;
CREATE MACRO parse_ident(given) AS words(given);
CREATE MACRO quote_literal(given) AS '''' || replace(given::VARCHAR, '''', '''''') || '''';
CREATE MACRO quote_nullable(given) AS coalesce(quote_literal(given), 'NULL');
CREATE MACRO pg_get_partkeydef(relation) AS NULL::VARCHAR;
CREATE MACRO pg_get_partition_constraintdef(relation) AS NULL::VARCHAR;
CREATE MACRO pg_get_ruledef(rule) AS NULL::VARCHAR;
CREATE MACRO pg_get_ruledef(rule, pretty) AS NULL::VARCHAR;
CREATE MACRO pg_get_function_identity_arguments(function) AS
    coalesce((SELECT min(identity) FROM (SELECT function) AS argument(number), python_procedures WHERE oid = argument.number),
             pg_get_function_arguments(function));
-- PostgreSQL's layout and its rule for the dollar quotes (ruleutils.c): the first of $function$, $functionx$ and so on whose beginning does
-- not occur in the body.
CREATE MACRO dollar_quote(body) AS
    (SELECT '$function' || repeat('x', list_filter(range(0, 1000), lambda one: NOT contains(argument.body, '$function' || repeat('x', one)))[1]) || '$'
     FROM (SELECT body) AS argument(body));
CREATE MACRO python_functiondef(function) AS
    (SELECT min('CREATE OR REPLACE ' || CASE kind WHEN 'aggregate' THEN 'AGGREGATE ' ELSE 'FUNCTION ' END
                || quote_ident(client_schema(schema)) || '.' || quote_ident(name)
                || '(' || arguments || ')' || chr(10) || ' RETURNS ' || result || chr(10) || ' LANGUAGE ' || language || chr(10)
                || CASE WHEN volatility <> 'v' OR strict OR scalars <> '' OR parallel <> usual OR style <> 'numpy'
                        THEN CASE volatility WHEN 'i' THEN ' IMMUTABLE' WHEN 's' THEN ' STABLE' ELSE '' END
                             || CASE WHEN parallel = usual THEN '' WHEN parallel = 's' THEN ' PARALLEL SAFE' WHEN parallel = 'r' THEN ' PARALLEL RESTRICTED'
                                     ELSE ' PARALLEL UNSAFE' END
                             || CASE WHEN strict THEN ' STRICT' ELSE '' END
                             || CASE WHEN style = 'arrow' THEN ' PARAMETER STYLE ARROW' ELSE '' END
                             || CASE WHEN scalars <> '' THEN ' SCALAR (' || scalars || ')' ELSE '' END || chr(10)
                        ELSE '' END
                || 'AS ' || dollar_quote(source) || source || dollar_quote(source) || chr(10))
     FROM (SELECT *, CASE language WHEN 'python_map' THEN 's' ELSE 'u' END AS usual,
                  array_to_string([quote_ident(p.name) for p in parameters if p.scalar], ', ') AS scalars
           FROM (SELECT function) AS argument(number), python_procedures WHERE oid = argument.number));
CREATE MACRO pg_get_functiondef(function) AS coalesce(python_functiondef(function),
    (SELECT min('CREATE OR REPLACE FUNCTION ' || quote_ident(nspname) || '.' || quote_ident(proname)
                || '(' || coalesce(proargs, '') || ')' || chr(10) || ' AS ' || CASE WHEN proretset THEN 'TABLE ' ELSE '' END || prosrc || chr(10))
     FROM (SELECT function) AS argument(number), pg_proc p, pg_namespace n
     WHERE n.oid = p.pronamespace AND p.oid = argument.number));
CREATE MACRO pg_get_function_sqlbody(function) AS NULL::VARCHAR;
CREATE MACRO array_remove(list, item) AS
    CASE WHEN list IS NOT NULL THEN
        list_transform(list_filter(list_zip(list, list_resize([item], len(list), item)), lambda one: one[1] IS DISTINCT FROM one[2]),
                       lambda one: one[1]) END;
CREATE MACRO pg_tablespace_location(tablespace) AS '';
CREATE MACRO pg_stat_get_numscans(relation) AS 0::BIGINT;
CREATE MACRO pg_is_wal_replay_paused() AS false;
CREATE MACRO pg_last_wal_receive_lsn() AS NULL::VARCHAR;
CREATE MACRO pg_blocking_pids(process) AS []::INTEGER[];
CREATE MACRO txid_current() AS current_transaction_id()::BIGINT;

-- PostgreSQL's templates for dates and times (its manual, "Data Type Formatting Functions") as DuckDB's formats. An unknown pattern is an
-- error, and is not copied into the result.
CREATE MACRO known_template(template) AS
    CASE WHEN regexp_matches(regexp_replace(template, '(?i:IYYY|IW|YYYY|YY|DDD|DD|HH24|HH12|HH|MI|MM|SS|MS|US)|AM|PM|FMMonth|FMDay|Mon|Dy|"[^"%A-SU-Ya-z]*"', '', 'g'), '[A-Za-z%"]')
         THEN error('to_char and to_timestamp know no template "' || template
                    || '" here: of dates and times write YYYY, YY, MM, DD, DDD, HH24, HH12, MI, SS, MS, US, AM, Mon, Dy, FMMonth, FMDay, IYYY, IW; or use strftime and strptime')
         ELSE '' END;
CREATE MACRO as_template(template) AS
    replace(replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(
    regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(regexp_replace(template,
        'FMMonth', '%B', 'g'), 'FMDay', '%A', 'g'), 'Mon', '%b', 'g'), 'Dy', '%a', 'g'), 'AM|PM', '%p', 'g'), 'SS', '%S', 'gi'), 'US', '%f', 'gi'),
        'IYYY', '%G', 'gi'), 'IW', '%V', 'gi'), 'YYYY', '%Y', 'gi'), 'YY', '%y', 'gi'), 'HH24', '%H', 'gi'), 'HH12|HH', '%I', 'gi'), 'MI', '%M', 'gi'),
        'MM', '%m', 'g'), 'mm', '%m', 'g'), 'MS', '%g', 'gi'), 'DDD', '%j'), '"', '');
CREATE MACRO in_template(template) AS
    regexp_replace(as_template(template), 'DD', '%d', 'gi');
CREATE MACRO to_char(moment, template) AS
    known_template(template) || strftime(moment, in_template(template));
CREATE MACRO to_timestamp(seconds) AS system.main.to_timestamp(seconds);
CREATE MACRO to_timestamp(given, template) AS
    strptime(known_template(template) || given, in_template(template))::TIMESTAMPTZ;
CREATE MACRO to_date(given, template) AS
    strptime(known_template(template) || given, in_template(template))::DATE;

-- A macro of DuckDB cannot have any number of arguments.
CREATE MACRO json_build_object(a, b) AS json_object(a::VARCHAR, b);
CREATE MACRO json_build_object(a, b, c, d) AS json_object(a::VARCHAR, b, c::VARCHAR, d);
CREATE MACRO json_build_object(a, b, c, d, e, f) AS json_object(a::VARCHAR, b, c::VARCHAR, d, e::VARCHAR, f);
CREATE MACRO json_build_object(a, b, c, d, e, f, g, h) AS json_object(a::VARCHAR, b, c::VARCHAR, d, e::VARCHAR, f, g::VARCHAR, h);
CREATE MACRO json_build_object(a, b, c, d, e, f, g, h, i, j) AS json_object(a::VARCHAR, b, c::VARCHAR, d, e::VARCHAR, f, g::VARCHAR, h, i::VARCHAR, j);
CREATE MACRO json_build_object(a, b, c, d, e, f, g, h, i, j, k, l) AS json_object(a::VARCHAR, b, c::VARCHAR, d, e::VARCHAR, f, g::VARCHAR, h, i::VARCHAR, j, k::VARCHAR, l);
CREATE MACRO json_build_object(a, b, c, d, e, f, g, h, i, j, k, l, m, n) AS json_object(a::VARCHAR, b, c::VARCHAR, d, e::VARCHAR, f, g::VARCHAR, h, i::VARCHAR, j, k::VARCHAR, l, m::VARCHAR, n);

-- Views for people.
CREATE VIEW pg_tables AS
SELECT nspname AS schemaname, relname AS tablename, current_user() AS tableowner, NULL::VARCHAR AS tablespace, relhasindex AS hasindexes,
       false AS hasrules, false AS hastriggers, false AS rowsecurity
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE relkind = 'r';
CREATE VIEW pg_views AS
SELECT nspname AS schemaname, relname AS viewname, current_user() AS viewowner, pg_get_viewdef(c.oid) AS definition
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE relkind = 'v';
CREATE VIEW pg_matviews AS
SELECT '' AS schemaname, '' AS matviewname, '' AS matviewowner, '' AS tablespace, false AS hasindexes, true AS ispopulated, '' AS definition LIMIT 0;
CREATE VIEW pg_indexes AS
SELECT client_schema(schema) AS schemaname, relation_name AS tablename, name AS indexname, NULL::VARCHAR AS tablespace,
       pg_get_indexdef(oid) AS indexdef
FROM indexes;
CREATE VIEW pg_sequences AS
SELECT nspname AS schemaname, relname AS sequencename, current_user() AS sequenceowner, seqstart AS start_value, seqmin AS min_value,
       seqmax AS max_value, seqincrement AS increment_by, seqcycle AS cycle, seqcache AS cache_size,
       'bigint' AS data_type, (SELECT min(last_value) FROM duckdb_sequences() d WHERE d.sequence_oid = s.seqrelid) AS last_value
FROM pg_sequence s JOIN pg_class c ON c.oid = s.seqrelid
JOIN pg_namespace n ON n.oid = c.relnamespace;
CREATE VIEW pg_stat_user_tables AS
SELECT c.oid AS relid, nspname AS schemaname, relname, reltuples::BIGINT AS n_live_tup
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE relkind = 'r' AND nspname <> 'pg_catalog';
-- The columns that the four views of indexes share.
CREATE VIEW index_statistics AS
SELECT indrelid AS relid, indexrelid, nspname AS schemaname, t.relname, i.relname AS indexrelname
FROM pg_index JOIN pg_class t ON t.oid = indrelid JOIN pg_class i ON i.oid = indexrelid JOIN pg_namespace n ON n.oid = t.relnamespace
WHERE nspname <> 'pg_catalog';
CREATE VIEW pg_user AS
SELECT rolname AS usename, oid AS usesysid, rolcreatedb AS usecreatedb, rolsuper AS usesuper, rolreplication AS userepl,
       rolbypassrls AS usebypassrls, NULL::VARCHAR AS passwd, rolvaliduntil AS valuntil, NULL::VARCHAR[] AS useconfig
FROM pg_roles;

-- Views without rows, for tools that query them.
CREATE VIEW pg_replication_slots AS
SELECT '' AS slot_name, '' AS plugin, '' AS slot_type, 0::BIGINT AS datoid, '' AS database, false AS temporary, false AS active, 0 AS active_pid,
       0::BIGINT AS xmin, 0::BIGINT AS catalog_xmin, '' AS restart_lsn, '' AS confirmed_flush_lsn, '' AS wal_status, 0::BIGINT AS safe_wal_size,
       false AS two_phase LIMIT 0;
CREATE VIEW pg_stat_replication AS
SELECT 0 AS pid, 0::BIGINT AS usesysid, '' AS usename, '' AS application_name, '' AS client_addr, '' AS state, '' AS sync_state LIMIT 0;
CREATE VIEW pg_stat_wal_receiver AS SELECT 0 AS pid, '' AS status LIMIT 0;
CREATE VIEW pg_locks AS
SELECT '' AS locktype, 0::BIGINT AS database, 0::BIGINT AS relation, 0 AS pid, '' AS mode, true AS granted, '' AS virtualtransaction,
       '' AS virtualxid, 0::BIGINT AS transactionid, 0::BIGINT AS classid LIMIT 0;
CREATE VIEW pg_foreign_data_wrapper AS
SELECT 0::BIGINT AS oid, '' AS fdwname, 10::BIGINT AS fdwowner, 0::BIGINT AS fdwhandler, 0::BIGINT AS fdwvalidator, NULL::VARCHAR[] AS fdwacl,
       NULL::VARCHAR[] AS fdwoptions LIMIT 0;
CREATE VIEW pg_foreign_server AS
SELECT 0::BIGINT AS oid, '' AS srvname, 10::BIGINT AS srvowner, 0::BIGINT AS srvfdw, '' AS srvtype, '' AS srvversion, NULL::VARCHAR[] AS srvacl,
       NULL::VARCHAR[] AS srvoptions LIMIT 0;
CREATE VIEW pg_foreign_table AS SELECT 0::BIGINT AS ftrelid, 0::BIGINT AS ftserver, NULL::VARCHAR[] AS ftoptions LIMIT 0;
CREATE VIEW pg_user_mappings AS
SELECT 0::BIGINT AS umid, 0::BIGINT AS srvid, '' AS srvname, 0::BIGINT AS umuser, '' AS usename, NULL::VARCHAR[] AS umoptions LIMIT 0;
CREATE VIEW pg_event_trigger AS
SELECT 0::BIGINT AS oid, '' AS evtname, '' AS evtevent, 10::BIGINT AS evtowner, 0::BIGINT AS evtfoid, '' AS evtenabled, NULL::VARCHAR[] AS evttags
LIMIT 0;
CREATE VIEW pg_cast AS
SELECT 0::BIGINT AS oid, 0::BIGINT AS castsource, 0::BIGINT AS casttarget, 0::BIGINT AS castfunc, '' AS castcontext, '' AS castmethod LIMIT 0;
CREATE VIEW pg_operator AS
SELECT 0::BIGINT AS oid, '' AS oprname, 11::BIGINT AS oprnamespace, 10::BIGINT AS oprowner, '' AS oprkind, 0::BIGINT AS oprleft,
       0::BIGINT AS oprright, 0::BIGINT AS oprresult, 0::BIGINT AS oprcode LIMIT 0;
CREATE VIEW pg_opfamily AS SELECT 0::BIGINT AS oid, 0::BIGINT AS opfmethod, '' AS opfname, 11::BIGINT AS opfnamespace LIMIT 0;
CREATE VIEW pg_aggregate AS
SELECT oid AS aggfnoid, 'n' AS aggkind, 0::SMALLINT AS aggnumdirectargs, '-' AS aggtransfn, '-' AS aggfinalfn, '-' AS aggcombinefn, '-' AS aggserialfn,
       '-' AS aggdeserialfn, '-' AS aggmtransfn, '-' AS aggminvtransfn, '-' AS aggmfinalfn, false AS aggfinalextra, false AS aggmfinalextra,
       'r' AS aggfinalmodify, 'r' AS aggmfinalmodify, 0::BIGINT AS aggsortop, result_types[1] AS aggtranstype, 0 AS aggtransspace,
       0::BIGINT AS aggmtranstype, 0 AS aggmtransspace, NULL::VARCHAR AS agginitval, NULL::VARCHAR AS aggminitval
FROM python_procedures WHERE kind = 'aggregate';
CREATE VIEW pg_seclabel AS SELECT 0::BIGINT AS objoid, 0::BIGINT AS classoid, 0 AS objsubid, '' AS provider, '' AS label LIMIT 0;
CREATE MACRO oidvectortypes(types) AS coalesce((SELECT string_agg(format_type(t.type, NULL), ', ' ORDER BY t.place)
    FROM (SELECT unnest(types) AS type, unnest(range(len(types))) AS place) t), '');
CREATE VIEW pg_conversion AS SELECT 0::BIGINT AS oid, '' AS conname, 11::BIGINT AS connamespace, false AS condefault LIMIT 0;
CREATE VIEW pg_rewrite AS
SELECT 0::BIGINT AS oid, '' AS rulename, 0::BIGINT AS ev_class, '' AS ev_type, '' AS ev_enabled, false AS is_instead LIMIT 0;
CREATE VIEW pg_partitioned_table AS SELECT 0::BIGINT AS partrelid, '' AS partstrat, 0 AS partnatts, 0::BIGINT AS partdefid LIMIT 0;
CREATE VIEW pg_default_acl AS
SELECT 0::BIGINT AS oid, 0::BIGINT AS defaclrole, 0::BIGINT AS defaclnamespace, '' AS defaclobjtype, NULL::VARCHAR[] AS defaclacl LIMIT 0;
CREATE VIEW pg_db_role_setting AS SELECT 0::BIGINT AS setdatabase, 0::BIGINT AS setrole, NULL::VARCHAR[] AS setconfig LIMIT 0;
CREATE VIEW pg_seclabels AS SELECT 0::BIGINT AS objoid, '' AS objtype, '' AS provider, '' AS label LIMIT 0;
CREATE VIEW pg_shseclabel AS SELECT 0::BIGINT AS objoid, 0::BIGINT AS classoid, '' AS provider, '' AS label LIMIT 0;
CREATE VIEW pg_subscription AS
SELECT 0::BIGINT AS oid, 0::BIGINT AS subdbid, '' AS subskiplsn, '' AS subname, 10::BIGINT AS subowner, false AS subenabled, false AS subbinary,
       false AS substream, '' AS subtwophasestate, false AS subdisableonerr, '' AS subconninfo, '' AS subslotname, '' AS subsynccommit,
       []::VARCHAR[] AS subpublications LIMIT 0;
CREATE VIEW pg_ts_config AS SELECT 0::BIGINT AS oid, '' AS cfgname, 11::BIGINT AS cfgnamespace LIMIT 0;
CREATE VIEW pg_ts_dict AS SELECT 0::BIGINT AS oid, '' AS dictname, 11::BIGINT AS dictnamespace LIMIT 0;
CREATE VIEW pg_available_extensions AS SELECT '' AS name, '' AS default_version, '' AS installed_version, '' AS comment LIMIT 0;
CREATE VIEW pg_stats AS
SELECT '' AS schemaname, '' AS tablename, '' AS attname, 0::FLOAT AS null_frac, 0 AS avg_width, 0::FLOAT AS n_distinct LIMIT 0;
CREATE VIEW pg_statistic AS SELECT 0::BIGINT AS starelid, 0 AS staattnum, 0::FLOAT AS stanullfrac, 0 AS stawidth LIMIT 0;
CREATE VIEW pg_largeobject_metadata AS SELECT 0::BIGINT AS oid, 10::BIGINT AS lomowner LIMIT 0;

-- Only this session: a client must not see those of others.
CREATE VIEW pg_stat_activity AS
SELECT min(oid) AS datid, current_database() AS datname, pg_backend_pid() AS pid, 10::BIGINT AS usesysid, current_user() AS usename,
       '' AS application_name, NULL::VARCHAR AS client_addr, NULL::VARCHAR AS client_hostname, NULL::INTEGER AS client_port,
       NULL::TIMESTAMPTZ AS backend_start, NULL::TIMESTAMPTZ AS xact_start, NULL::TIMESTAMPTZ AS query_start, NULL::TIMESTAMPTZ AS state_change,
       NULL::VARCHAR AS wait_event_type, NULL::VARCHAR AS wait_event, 'active' AS state, NULL::BIGINT AS backend_xid, NULL::BIGINT AS backend_xmin,
       NULL::VARCHAR AS query, 'client backend' AS backend_type
FROM pg_database WHERE datname = current_database();
CREATE VIEW pg_stat_gssapi AS
SELECT pg_backend_pid() AS pid, false AS gss_authenticated, NULL::VARCHAR AS principal, false AS encrypted;
CREATE VIEW pg_stat_all_tables AS FROM pg_stat_user_tables;
CREATE VIEW pg_statio_all_tables AS SELECT relid, schemaname, relname FROM pg_stat_user_tables;
CREATE VIEW pg_statio_user_tables AS FROM pg_statio_all_tables;
CREATE VIEW pg_stat_all_indexes AS FROM index_statistics;
CREATE VIEW pg_stat_user_indexes AS FROM index_statistics;
CREATE VIEW pg_statio_all_indexes AS FROM index_statistics;
CREATE VIEW pg_statio_user_indexes AS FROM index_statistics;
CREATE VIEW pg_stat_database AS
SELECT oid AS datid, datname, 1 AS numbackends, NULL::BIGINT AS xact_commit, NULL::BIGINT AS xact_rollback, NULL::BIGINT AS blks_read,
       NULL::BIGINT AS blks_hit, NULL::BIGINT AS tup_returned, NULL::BIGINT AS tup_fetched, NULL::BIGINT AS tup_inserted,
       NULL::BIGINT AS tup_updated, NULL::BIGINT AS tup_deleted, NULL::BIGINT AS conflicts, NULL::BIGINT AS temp_files, NULL::BIGINT AS temp_bytes,
       NULL::BIGINT AS deadlocks, NULL::TIMESTAMPTZ AS stats_reset
FROM pg_database;
CREATE VIEW pg_timezone_names AS
SELECT name, abbrev, utc_offset, is_dst FROM pg_timezone_names();
CREATE VIEW pg_authid AS FROM pg_roles;
CREATE VIEW pg_shadow AS
SELECT usename, usesysid, usecreatedb, usesuper, userepl, usebypassrls, NULL::VARCHAR AS passwd FROM pg_user;
CREATE VIEW pg_group AS SELECT '' AS groname, 0::BIGINT AS grosysid, []::BIGINT[] AS grolist LIMIT 0;
CREATE MACRO pg_get_keywords() AS TABLE
    SELECT keyword_name AS word, CASE keyword_category WHEN 'reserved' THEN 'R' WHEN 'column_name' THEN 'C' WHEN 'type_function' THEN 'T' ELSE 'U' END AS catcode
    FROM duckdb_keywords();
