-- 1042 is character, 1043 character varying, 1700 numeric; their type modifiers are 4 more than what they say. A scale has 11 bits and a sign.
SELECT current_database()::text AS catalog_name,
    n.nspname::text AS db_schema_name,
    c.relname::text AS table_name,
    a.attname::text AS column_name,
    a.attnum::text AS ordinal_position,
    pg_catalog.col_description(c.oid, a.attnum)::text AS remarks,
    pg_catalog.format_type(a.atttypid, a.atttypmod)::text AS xdbc_type_name,
    CASE
        WHEN a.atttypmod < 4 THEN NULL
        WHEN a.atttypid IN (1042, 1043) THEN (a.atttypmod - 4)::text
        WHEN a.atttypid = 1700 THEN ((a.atttypmod - 4) >> 16)::text
    END AS xdbc_column_size,
    CASE
        WHEN a.atttypmod >= 4 AND a.atttypid = 1700 THEN (((a.atttypmod - 4 + 1024) & 2047) - 1024)::text
    END AS xdbc_decimal_digits,
    CASE WHEN a.atttypid = 1700 THEN '10' END AS xdbc_num_prec_radix,
    CASE WHEN a.attnotnull THEN '0' ELSE '1' END AS xdbc_nullable,
    CASE WHEN a.attgenerated::text = '' THEN pg_catalog.pg_get_expr(d.adbin, d.adrelid)::text END AS xdbc_column_def,
    CASE WHEN a.attnotnull THEN 'NO' ELSE 'YES' END AS xdbc_is_nullable,
    CASE
        WHEN a.attidentity::text <> '' OR left(pg_catalog.pg_get_expr(d.adbin, d.adrelid)::text, 8) = 'nextval(' THEN 'YES'
        ELSE 'NO'
    END AS xdbc_is_autoincrement,
    CASE WHEN a.attgenerated::text <> '' THEN 'YES' ELSE 'NO' END AS xdbc_is_generatedcolumn,
    a.attnum AS place
FROM pg_catalog.pg_attribute AS a
JOIN pg_catalog.pg_class AS c ON c.oid = a.attrelid
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
LEFT JOIN pg_catalog.pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
WHERE a.attnum > 0 AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f')
