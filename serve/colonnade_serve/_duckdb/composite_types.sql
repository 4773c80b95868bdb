-- Composite types (PostgreSQL's manual, "Composite Types"). DuckDB lists them without their attributes, which a function of the server reads
-- (serve/bridge/src/duckdb_api/session_functions/attributes.rs). DuckDB's number of a type is that of its relation here, and the type's own
-- number has one more bit (`oid.rs`).
CREATE VIEW composites AS
SELECT relid + 536870912 AS oid, relid, name, namespace, schema, struct_extract(described, 'type') AS duckdb,
       coalesce(struct_extract(described, 'fields'), []) AS fields
FROM (SELECT type_oid AS relid, type_name AS name, schema_oid AS namespace, schema_name AS schema,
             from_json(system.main.colonnade_attributes(database_name, schema_name, type_name),
                       '{"type":"VARCHAR","fields":[{"name":"VARCHAR","type":"VARCHAR"}]}') AS described
      FROM duckdb_types() WHERE database_name = current_database() AND NOT internal AND logical_type = 'STRUCT');
