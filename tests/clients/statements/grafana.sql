-- Grafana's PostgreSQL data source, as it is known to ask; not recorded from a run: the test of the connection, columns, a time series.

SELECT 1;
SELECT current_setting('server_version_num')::int/100 as version;
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE quote_ident(table_name) = 'orders';
SELECT quote_ident(column_name) AS "column", data_type AS "type" FROM information_schema.columns WHERE CASE WHEN array_length(parse_ident('public.orders'),1) = 2 THEN quote_ident(table_schema) = (parse_ident('public.orders'))[1] AND quote_ident(table_name) = (parse_ident('public.orders'))[2] ELSE quote_ident(table_name) = 'orders' END;
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb';
SELECT floor(extract(epoch from placed)/3600)*3600 AS "time", sum(total) FROM orders WHERE placed BETWEEN '2021-01-01T00:00:00Z' AND '2022-01-01T00:00:00Z' GROUP BY 1 ORDER BY 1;
select quote_ident(table_name) as "table" from information_schema.tables where quote_ident(table_schema) not in ('information_schema', 'pg_catalog', '_timescaledb_cache', '_timescaledb_catalog', '_timescaledb_internal', '_timescaledb_config', 'timescaledb_information', 'timescaledb_experimental') and quote_ident(table_schema) IN ( SELECT CASE WHEN trim(s[i]) = '"$user"' THEN user ELSE trim(s[i]) END FROM generate_series( array_lower(string_to_array(current_setting('search_path'),','),1), array_upper(string_to_array(current_setting('search_path'),','),1) ) as i, string_to_array(current_setting('search_path'),',') s );
