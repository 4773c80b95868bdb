SELECT CAST(schema_name AS CHAR) AS catalog_name, CAST(NULL AS CHAR) AS db_schema_name, 1 AS place
FROM information_schema.schemata
