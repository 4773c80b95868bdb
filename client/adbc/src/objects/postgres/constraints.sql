SELECT current_database()::text AS catalog_name,
    n.nspname::text AS db_schema_name,
    c.relname::text AS table_name,
    con.conname::text AS constraint_name,
    CASE con.contype
        WHEN 'c' THEN 'CHECK'
        WHEN 'f' THEN 'FOREIGN KEY'
        WHEN 'p' THEN 'PRIMARY KEY'
        ELSE 'UNIQUE'
    END AS constraint_type,
    a.attname::text AS constrained_column,
    CASE WHEN con.contype = 'f' THEN current_database()::text END AS fk_catalog,
    fn.nspname::text AS fk_db_schema,
    fc.relname::text AS fk_table,
    fa.attname::text AS fk_column_name,
    k.number AS place
FROM pg_catalog.pg_constraint AS con
JOIN pg_catalog.pg_class AS c ON c.oid = con.conrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN LATERAL unnest(con.conkey) WITH ORDINALITY AS k(attnum, number) ON true
LEFT JOIN pg_catalog.pg_attribute AS a ON a.attrelid = con.conrelid AND a.attnum = k.attnum
LEFT JOIN pg_catalog.pg_class AS fc ON con.contype = 'f' AND fc.oid = con.confrelid
LEFT JOIN pg_catalog.pg_namespace AS fn ON fn.oid = fc.relnamespace
LEFT JOIN pg_catalog.pg_attribute AS fa ON fa.attrelid = fc.oid AND fa.attnum = con.confkey[k.number]
WHERE con.contype IN ('c', 'f', 'p', 'u')
