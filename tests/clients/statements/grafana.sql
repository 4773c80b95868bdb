-- Grafana's PostgreSQL data source, as it is known to ask; not recorded from a run: the test of the connection, columns, a time series.

SELECT 1;
SELECT current_setting('server_version_num')::int/100 as version;
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE quote_ident(table_name) = 'orders';
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE CASE WHEN array_length(parse_ident('public.orders'),1) = 2 THEN quote_ident(table_schema) = (parse_ident('public.orders'))[1] AND quote_ident(table_name) = (parse_ident('public.orders'))[2] ELSE quote_ident(table_name) = 'orders' END;
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb';
SELECT floor(extract(epoch from placed)/3600)*3600 AS "time", sum(total) FROM orders WHERE placed BETWEEN '2021-01-01T00:00:00Z' AND '2022-01-01T00:00:00Z' GROUP BY 1 ORDER BY 1;
