-- The sessions (serve/protocol/src/caller.rs), for databases that have `colonnade_signal`.
CREATE MACRO pg_cancel_backend(pid) AS system.main.colonnade_signal('cancel', pid::INTEGER, 0::BIGINT);
CREATE MACRO pg_terminate_backend(pid) AS system.main.colonnade_signal('terminate', pid::INTEGER, 0::BIGINT);
CREATE MACRO pg_terminate_backend(pid, timeout) AS system.main.colonnade_signal('terminate', pid::INTEGER, timeout::BIGINT);
CREATE VIEW listed_statements AS
SELECT unnest(from_json(system.main.colonnade_listing('statements'),
                        '[{"name":"VARCHAR","statement":"VARCHAR","since":"TIMESTAMPTZ","types":["BIGINT"]}]'), recursive := true);
CREATE VIEW pg_prepared_statements AS
SELECT name, statement, since AS prepare_time,
       coalesce((SELECT list(format_type(t.type, NULL) ORDER BY t.place)
                 FROM (SELECT unnest(types) AS type, unnest(range(len(types))) AS place) t), []) AS parameter_types,
       false AS from_sql, 0::BIGINT AS generic_plans, 0::BIGINT AS custom_plans
FROM listed_statements WHERE types IS NOT NULL
-- DuckDB has the statements of PREPARE, and decides the types of their parameters when EXECUTE gives the values.
UNION ALL
SELECT p.name, coalesce(l.statement, p.statement), l.since, [lower(type) for type in coalesce(p.parameter_types, [])], true, 0, 0
FROM duckdb_prepared_statements() p LEFT JOIN listed_statements l ON l.name = lower(p.name) AND l.types IS NULL;
CREATE VIEW pg_cursors AS
SELECT name, statement, held AS is_holdable, false AS is_binary, scrollable AS is_scrollable, since AS creation_time
FROM (SELECT unnest(from_json(system.main.colonnade_listing('cursors'),
                              '[{"name":"VARCHAR","statement":"VARCHAR","held":"BOOLEAN","scrollable":"BOOLEAN","since":"TIMESTAMPTZ"}]'),
                    recursive := true));
CREATE VIEW transaction_settings AS
SELECT unnest(from_json(system.main.colonnade_listing('modes'), '[{"name":"VARCHAR","setting":"VARCHAR"}]'), recursive := true);
