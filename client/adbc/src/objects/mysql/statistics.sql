-- The keys are ADBC's: 1 is the number of distinct values, which is known of the first column of an index, 6 that of rows.
SELECT CAST(table_schema AS CHAR) AS catalog_name,
    CAST(NULL AS CHAR) AS db_schema_name,
    CAST(table_name AS CHAR) AS table_name,
    CAST(column_name AS CHAR) AS column_name,
    '1' AS statistic_key,
    CAST(MAX(cardinality) AS CHAR) AS estimate,
    'YES' AS statistic_is_approximate,
    CAST(column_name AS CHAR) AS place
FROM information_schema.statistics
WHERE seq_in_index = 1 AND cardinality IS NOT NULL
GROUP BY table_schema, table_name, column_name
UNION ALL
SELECT CAST(table_schema AS CHAR),
    CAST(NULL AS CHAR),
    CAST(table_name AS CHAR),
    NULL,
    '6',
    CAST(table_rows AS CHAR),
    'YES',
    ''
FROM information_schema.tables
WHERE table_rows IS NOT NULL
