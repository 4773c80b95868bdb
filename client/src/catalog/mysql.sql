SELECT CAST(table_schema AS CHAR) AS catalog_name,
    CAST(NULL AS CHAR) AS db_schema_name,
    CAST(table_name AS CHAR) AS table_name,
    CAST(table_type AS CHAR) AS table_type,
    CAST(table_rows AS CHAR) AS estimated_rows,
    CAST(table_name AS CHAR) AS place
FROM information_schema.tables
