-- The keys are ADBC's: 0 is the average width in bytes, 1 the number of distinct values, 5 that of NULLs, 6 that of rows. A negative n_distinct is a
-- share of the rows. A table that was never analyzed has -1 rows.
SELECT current_database()::text AS catalog_name,
    n.nspname::text AS db_schema_name,
    c.relname::text AS table_name,
    s.attname::text AS column_name,
    k.statistic_key::text AS statistic_key,
    CASE k.statistic_key
        WHEN 0 THEN s.avg_width::float8
        WHEN 1 THEN CASE WHEN s.n_distinct < 0 THEN -s.n_distinct * c.reltuples ELSE s.n_distinct END::float8
        WHEN 5 THEN (s.null_frac * c.reltuples)::float8
    END::text AS estimate,
    'YES' AS statistic_is_approximate,
    s.attname::text AS place
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_stats AS s ON s.schemaname = n.nspname AND s.tablename = c.relname AND NOT s.inherited
CROSS JOIN (VALUES (0), (1), (5)) AS k (statistic_key)
WHERE c.relkind IN ('r', 'm', 'f') AND c.reltuples >= 0
UNION ALL
SELECT current_database()::text,
    n.nspname::text,
    c.relname::text,
    NULL,
    '6',
    c.reltuples::float8::text,
    'YES',
    ''
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'm', 'f') AND c.reltuples >= 0
