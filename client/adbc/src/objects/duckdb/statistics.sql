-- DuckDB keeps no estimates of columns. The key 6 is ADBC's for the number of rows.
SELECT current_database()::text AS catalog_name,
    n.nspname::text AS db_schema_name,
    c.relname::text AS table_name,
    NULL::text AS column_name,
    '6' AS statistic_key,
    c.reltuples::float8::text AS estimate,
    'YES' AS statistic_is_approximate,
    '' AS place
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind = 'r' AND c.reltuples >= 0
