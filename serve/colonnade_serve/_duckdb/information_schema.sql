-- The information schema of the current database (SQL:2016-11; PostgreSQL's manual, "The Information Schema"). DuckDB's own one shows all
-- databases, and has DuckDB's names of types.


CREATE MACRO information._pg_expandarray(list) AS
    unnest(list_transform(list_zip(list, range(1, len(list) + 1)), lambda one: {'x': one[1], 'n': one[2]::INTEGER}));
CREATE MACRO information._pg_expandarray(list) AS TABLE SELECT unnest(list) AS x, unnest(range(1, len(list) + 1))::INTEGER AS n;
-- What a type's modifier says. DuckDB stores lengths of numbers alone.
CREATE MACRO information._pg_char_max_length(type, modifier) AS NULL::INTEGER;
CREATE MACRO information._pg_numeric_precision(type, modifier) AS
    CASE type WHEN 21 THEN 16 WHEN 23 THEN 32 WHEN 20 THEN 64 WHEN 700 THEN 24 WHEN 701 THEN 53
              WHEN 1700 THEN CASE WHEN modifier > 4 THEN (modifier - 4) // 65536 END END::INTEGER;
CREATE MACRO information._pg_numeric_scale(type, modifier) AS
    CASE WHEN type IN (20, 21, 23) THEN 0 WHEN type = 1700 AND modifier > 4 THEN (modifier - 4) % 65536 END::INTEGER;
CREATE MACRO information._pg_datetime_precision(type, modifier) AS
    CASE WHEN type = 1082 THEN 0 WHEN type IN (1083, 1114, 1184, 1186, 1266) THEN 6 END::INTEGER;
CREATE MACRO information.schema_of(database, schema) AS 
    CASE database WHEN 'temp' THEN 'pg_temp_1' ELSE client_schema(schema) END;

CREATE VIEW information.tables AS
SELECT * REPLACE (current_database() AS table_catalog, information.schema_of(table_catalog, table_schema) AS table_schema)
FROM system.information_schema.tables t
WHERE is_visible(t.table_catalog) AND (t.table_type <> 'VIEW' OR t.table_catalog <> 'temp');

-- The columns of DuckDB's view. Those that are NULL here are NULL there too.
CREATE VIEW information.columns AS
SELECT current_database() AS table_catalog, information.schema_of(database_name, schema_name) AS table_schema, table_name,
       column_name, column_index AS ordinal_position, shown_default(column_default) AS column_default, CASE WHEN is_nullable THEN 'YES' ELSE 'NO' END AS is_nullable,
       CASE WHEN c.data_type LIKE '%]' THEN 'ARRAY' WHEN t.known IS NULL THEN 'USER-DEFINED' ELSE t.known END AS data_type,
       character_maximum_length, NULL::INTEGER AS character_octet_length, CASE WHEN has_digits THEN numeric_precision END AS numeric_precision, numeric_precision_radix,
       CASE WHEN has_digits THEN numeric_scale END AS numeric_scale,
       CASE WHEN c.data_type LIKE 'TIME%' THEN 6 END AS datetime_precision, NULL::VARCHAR AS interval_type,
       NULL::VARCHAR AS collation_name, NULL::VARCHAR AS domain_schema, NULL::VARCHAR AS domain_name,
       current_database() AS udt_catalog, CASE WHEN t.known IS NULL THEN client_schema(schema_name) ELSE 'pg_catalog' END AS udt_schema,
       p.typname AS udt_name, column_index::VARCHAR AS dtd_identifier, 'NO' AS is_self_referencing, 'NO' AS is_identity,
       NULL::VARCHAR AS identity_generation, CASE WHEN is_generated THEN 'ALWAYS' ELSE 'NEVER' END AS is_generated, generation_expression,
       'YES' AS is_updatable, comment AS column_comment, NULL::VARCHAR AS identity_start, NULL::VARCHAR AS identity_increment,
       NULL::VARCHAR AS identity_maximum, NULL::VARCHAR AS identity_minimum, 'NO' AS identity_cycle
FROM numbered_columns c
LEFT JOIN by_sql t ON t.oid = c.type
LEFT JOIN pg_type p ON p.oid = c.type
ORDER BY table_oid, column_index;

CREATE VIEW information.schemata AS
SELECT * REPLACE (client_schema(schema_name) AS schema_name)
FROM system.information_schema.schemata WHERE catalog_name = current_database();
CREATE VIEW information.views AS
SELECT * REPLACE (client_schema(table_schema) AS table_schema)
FROM system.information_schema.views WHERE table_catalog = current_database();
CREATE VIEW information.character_sets AS FROM system.information_schema.character_sets;
-- DuckDB's own views have its own names of constraints.
CREATE VIEW information.table_constraints AS
SELECT database_name AS constraint_catalog, client_schema(schema_name) AS constraint_schema, name AS constraint_name,
       database_name AS table_catalog, client_schema(schema_name) AS table_schema, table_name,
       CASE kind WHEN 'n' THEN 'CHECK' ELSE constraint_type END AS constraint_type,
       'NO' AS is_deferrable, 'NO' AS initially_deferred, 'YES' AS enforced, 'YES' AS nulls_distinct
FROM named_constraints WHERE database_name = current_database();
CREATE VIEW information.check_constraints AS
SELECT database_name AS constraint_catalog, client_schema(schema_name) AS constraint_schema, name AS constraint_name,
       CASE kind WHEN 'n' THEN constraint_column_names[1] || ' IS NOT NULL' ELSE '(' || expression || ')' END AS check_clause
FROM named_constraints WHERE database_name = current_database() AND kind IN ('c', 'n');
CREATE VIEW information.key_column_usage AS
SELECT database_name AS constraint_catalog, client_schema(schema_name) AS constraint_schema, name AS constraint_name,
       database_name AS table_catalog, client_schema(schema_name) AS table_schema, table_name,
       unnest(constraint_column_names) AS column_name, unnest(range(1, len(constraint_column_names) + 1)) AS ordinal_position,
       CASE kind WHEN 'f' THEN unnest(range(1, len(constraint_column_names) + 1)) END AS position_in_unique_constraint
FROM named_constraints WHERE database_name = current_database() AND kind IN ('p', 'u', 'f');
CREATE VIEW information.referential_constraints AS
SELECT current_database() AS constraint_catalog, client_schema(f.schema) AS constraint_schema, f.name AS constraint_name,
       current_database() AS unique_constraint_catalog, client_schema(k.schema) AS unique_constraint_schema,
       k.name AS unique_constraint_name, 'NONE' AS match_option, 'NO ACTION' AS update_rule, 'NO ACTION' AS delete_rule
FROM constraints f JOIN declared k ON k.oid = f.key WHERE NOT f.temporary;
-- For a foreign key, the columns to which it refers.
CREATE VIEW information.constraint_column_usage AS
SELECT current_database() AS table_catalog, client_schema(schema) AS table_schema,
       CASE kind WHEN 'f' THEN referenced_table ELSE relation_name END AS table_name,
       unnest(CASE kind WHEN 'f' THEN referenced_column_names ELSE column_names END) AS column_name,
       current_database() AS constraint_catalog, client_schema(schema) AS constraint_schema, name AS constraint_name
FROM declared WHERE NOT temporary;
CREATE VIEW information.constraint_table_usage AS
SELECT DISTINCT table_catalog, table_schema, table_name, constraint_catalog, constraint_schema, constraint_name
FROM information.constraint_column_usage;
CREATE VIEW information.sequences AS
SELECT current_database() AS sequence_catalog, schemaname AS sequence_schema, sequencename AS sequence_name, 'bigint' AS data_type,
       64 AS numeric_precision, 2 AS numeric_precision_radix, 0 AS numeric_scale, start_value::VARCHAR AS start_value,
       min_value::VARCHAR AS minimum_value, max_value::VARCHAR AS maximum_value, increment_by::VARCHAR AS increment,
       CASE WHEN cycle THEN 'YES' ELSE 'NO' END AS cycle_option
FROM pg_sequences;
CREATE VIEW information.information_schema_catalog_name AS SELECT current_database() AS catalog_name;
CREATE VIEW information.enabled_roles AS SELECT current_user() AS role_name;
-- Each user may do everything with each table. A user who may only read is not told here.
CREATE VIEW information.table_privileges AS
SELECT current_user() AS grantor, current_user() AS grantee, table_catalog, table_schema, table_name,
       unnest(['INSERT', 'SELECT', 'UPDATE', 'DELETE']) AS privilege_type, 'YES' AS is_grantable,
       CASE privilege_type WHEN 'SELECT' THEN 'YES' ELSE 'NO' END AS with_hierarchy
FROM information.tables;
CREATE VIEW information.role_table_grants AS FROM information.table_privileges;
CREATE VIEW information.column_privileges AS
SELECT current_user() AS grantor, current_user() AS grantee, table_catalog, table_schema, table_name, column_name,
       unnest(['INSERT', 'SELECT', 'UPDATE']) AS privilege_type, 'YES' AS is_grantable
FROM information.columns;
CREATE VIEW information.role_column_grants AS FROM information.column_privileges;
CREATE VIEW information.routines AS
SELECT current_database() AS specific_catalog, client_schema(schema) AS specific_schema, name || '_' || oid AS specific_name,
       current_database() AS routine_catalog, specific_schema AS routine_schema, name AS routine_name,
       CASE kind WHEN 'aggregate' THEN NULL ELSE 'FUNCTION' END AS routine_type, CASE kind WHEN 'table' THEN 'record' ELSE result END AS data_type,
       current_database() AS type_udt_catalog, 'pg_catalog' AS type_udt_schema, 'EXTERNAL' AS routine_body, source AS routine_definition,
       NULL::VARCHAR AS external_name, upper(language) AS external_language, 'GENERAL' AS parameter_style,
       CASE volatility WHEN 'i' THEN 'YES' ELSE 'NO' END AS is_deterministic, 'READS' AS sql_data_access,
       CASE WHEN strict THEN 'YES' ELSE 'NO' END AS is_null_call, 'INVOKER' AS security_type, created_at AS created
FROM python_procedures;
CREATE VIEW information.parameters AS
SELECT current_database() AS specific_catalog, client_schema(schema) AS specific_schema, name || '_' || oid AS specific_name,
       place::INTEGER AS ordinal_position, CASE WHEN is_result THEN 'OUT' ELSE 'IN' END AS parameter_mode,
       CASE WHEN is_result THEN 'YES' ELSE 'NO' END AS is_result, 'NO' AS as_locator, parameter AS parameter_name,
       shown_type(type) AS data_type, current_database() AS udt_catalog, 'pg_catalog' AS udt_schema,
       constant AS parameter_default
FROM (SELECT schema, name, oid, unnest(range(1, len(parameters) + 1)) AS place, false AS is_result, unnest(parameters).name AS parameter,
             unnest(parameters).type AS type, unnest(parameters).default AS constant
      FROM python_procedures
      UNION ALL
      SELECT schema, name, oid, len(parameters) + unnest(range(1, len(results) + 1)), true, unnest(results)[1], unnest(results)[2], NULL
      FROM python_procedures WHERE kind = 'table');
