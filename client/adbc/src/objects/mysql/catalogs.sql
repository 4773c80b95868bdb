-- Without the system's own.
SELECT CAST(schema_name AS CHAR) AS catalog_name, CAST(schema_name AS CHAR) AS place
FROM information_schema.schemata
WHERE schema_name NOT IN ('information_schema', 'mysql', 'performance_schema', 'sys')
