SELECT pg_catalog.current_database()::text AS catalog_name,
    n.nspname::text AS db_schema_name,
    c.relname::text AS table_name,
    CASE c.relkind
        WHEN 'p' THEN 'partitioned table'
        WHEN 'v' THEN 'view'
        WHEN 'm' THEN 'materialized view'
        WHEN 'f' THEN 'foreign table'
        ELSE 'table'
    END AS table_type,
    CASE WHEN c.relkind <> 'v' AND c.reltuples >= 0 THEN c.reltuples::bigint::text END AS estimated_rows,
    c.relname::text AS place
FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.relkind IN ('r', 'p', 'v', 'm', 'f')
