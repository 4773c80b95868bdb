-- What many clients write.

SELECT id FROM orders WHERE id = ANY('{1,3}');
SELECT id FROM orders WHERE id <> ALL ('{1,3}') AND note = ANY ('{"ring twice",x}'::text[]);
SELECT relname FROM pg_class WHERE relkind = ANY ('{r,v}');
SELECT to_char(placed, 'YYYY-MM-DD HH24:MI:SS'), to_timestamp('05 Dec 2000', 'DD Mon YYYY') FROM orders;
SELECT pg_size_pretty(pg_database_size(current_database())), pg_relation_size('orders'), pg_table_size('orders'), pg_indexes_size('orders'), pg_total_relation_size('orders');
SELECT parse_ident('"Some Schema".some_table'), pg_get_partkeydef('orders'::regclass);
SELECT table_schema FROM shop.INFORMATION_SCHEMA.TABLES;
