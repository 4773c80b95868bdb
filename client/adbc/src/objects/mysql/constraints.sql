SELECT CAST(t.table_schema AS CHAR) AS catalog_name,
    CAST(NULL AS CHAR) AS db_schema_name,
    CAST(t.table_name AS CHAR) AS table_name,
    CAST(t.constraint_name AS CHAR) AS constraint_name,
    CAST(t.constraint_type AS CHAR) AS constraint_type,
    CAST(k.column_name AS CHAR) AS constrained_column,
    CAST(k.referenced_table_schema AS CHAR) AS fk_catalog,
    CAST(NULL AS CHAR) AS fk_db_schema,
    CAST(k.referenced_table_name AS CHAR) AS fk_table,
    CAST(k.referenced_column_name AS CHAR) AS fk_column_name,
    k.ordinal_position AS place
FROM information_schema.table_constraints AS t
LEFT JOIN information_schema.key_column_usage AS k
    ON k.constraint_schema = t.constraint_schema
    AND k.constraint_name = t.constraint_name
    AND k.table_schema = t.table_schema
    AND k.table_name = t.table_name
