-- Without the system's own.
SELECT current_database()::text AS catalog_name,
    n.nspname::text AS db_schema_name,
    n.nspname::text AS place
FROM pg_catalog.pg_namespace AS n
WHERE left(n.nspname::text, 3) <> 'pg_' AND n.nspname <> 'information_schema'
