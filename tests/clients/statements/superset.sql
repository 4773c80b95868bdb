-- Apache Superset over SQLAlchemy, as it is known to ask; not recorded from a run: the test of the connection, a chart by months.

SELECT pg_catalog.version();
select current_schema();
show standard_conforming_strings;
show transaction isolation level;
SELECT nspname FROM pg_catalog.pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname;
SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p']) AND pg_catalog.pg_class.relpersistence != 't' AND pg_catalog.pg_namespace.nspname = 'public';
SELECT DATE_TRUNC('month', placed) AS placed, SUM(total) AS "SUM(total)" FROM public.orders WHERE placed >= TO_TIMESTAMP('2021-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND placed < TO_TIMESTAMP('2022-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('month', placed) ORDER BY "SUM(total)" DESC LIMIT 10000;
SELECT name, COUNT(*) AS count FROM public.customers WHERE joined >= TO_DATE('2020-01-01', 'YYYY-MM-DD') GROUP BY name ORDER BY count DESC LIMIT 1000;
SELECT TO_CHAR(placed, 'YYYY-MM') AS month, COUNT(*) FROM orders GROUP BY 1;
SELECT datname FROM pg_database WHERE datistemplate = false;
EXPLAIN SELECT * FROM orders;
