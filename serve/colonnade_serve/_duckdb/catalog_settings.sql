-- PostgreSQL's settings, for queries. SET and SHOW do not come here (`serve/protocol/src/session/settings.rs`).

CREATE TABLE fixed_settings (name VARCHAR, setting VARCHAR);
INSERT INTO fixed_settings VALUES
    ('server_version', '15.0'), ('server_version_num', '150000'), ('server_encoding', 'UTF8'),
    ('standard_conforming_strings', 'on'), ('integer_datetimes', 'on'),
    ('bytea_output', 'hex'), ('max_identifier_length', '63'), ('max_index_keys', '32'), ('block_size', '8192'), ('is_superuser', 'off'),
    ('default_table_access_method', 'heap'), ('lc_collate', 'C'), ('lc_ctype', 'C'), ('in_hot_standby', 'off');
CREATE VIEW pg_settings AS
SELECT name, setting, NULL::VARCHAR AS unit, '' AS category, '' AS short_desc, 'internal' AS context, 'string' AS vartype, 'default' AS source,
       setting AS boot_val, setting AS reset_val
FROM (FROM fixed_settings
      UNION ALL FROM transaction_settings
      -- What the session tells of itself (`settings.rs`).
      UNION ALL SELECT 'client_encoding', coalesce(getvariable('colonnade_client_encoding')::VARCHAR, 'UTF8')
      UNION ALL SELECT 'DateStyle', coalesce(getvariable('colonnade_datestyle')::VARCHAR, 'ISO, MDY')
      UNION ALL SELECT 'IntervalStyle', coalesce(getvariable('colonnade_intervalstyle')::VARCHAR, 'postgres')
      -- DuckDB's names of offsets with minutes count to the east, PostgreSQL's to the west (`zone.rs`).
      UNION ALL SELECT name, CASE name WHEN 'search_path' THEN coalesce(quoted_list(awaited_path()), quoted_list(current_schemas(false)))
                                       WHEN 'TimeZone' THEN regexp_replace(regexp_replace(value, '^GMT\+(\d\d:.*)$', '<+\1>-\1'),
                                                                           '^GMT-(\d\d:.*)$', '<-\1>+\1')
                                       ELSE value END
      FROM duckdb_settings());
CREATE MACRO current_setting(setting_name) AS
    coalesce((SELECT min(setting) FROM (SELECT lower(setting_name)) AS argument(name), pg_settings s
              WHERE lower(s.name) = argument.name),
             error('unrecognized configuration parameter "' || setting_name || '"'));
CREATE MACRO current_setting(setting_name, missing_ok) AS
    coalesce((SELECT min(setting) FROM (SELECT lower(setting_name)) AS argument(name), pg_settings s
              WHERE lower(s.name) = argument.name),
             CASE WHEN missing_ok THEN NULL ELSE error('unrecognized configuration parameter "' || setting_name || '"') END);
-- A macro can change no setting. It accepts the present value, settings whose values have no effect, and an empty search path, with which tools
-- protect names that they write with a schema anyway. Another value is an error, because the session would keep the present one.
CREATE MACRO set_config(setting_name, new_value, is_local) AS
    (SELECT CASE WHEN argument.name IN ('application_name', 'check_function_bodies', 'client_min_messages', 'extra_float_digits', 'jit',
                                        'lc_messages', 'lc_monetary', 'row_security', 'synchronize_seqscans', 'xmloption')
                   OR argument.name = 'search_path' AND argument.path = ''
                   OR argument.name = 'datestyle' AND lower(argument.given) = 'iso'
                   OR EXISTS (FROM pg_settings s WHERE lower(s.name) = argument.name AND lower(s.setting) IN (lower(argument.given), argument.path))
                 THEN argument.given
                 ELSE error('set_config() cannot change "' || argument.name || '" on this server; write SET ' || argument.name || ' = …') END
     FROM (SELECT lower(setting_name), new_value::VARCHAR,
                  CASE WHEN lower(setting_name) = 'search_path'
                       THEN trim(regexp_replace(lower(new_value::VARCHAR), '"\$user"|pg_catalog|\s|"', '', 'g'), ',') END) AS argument(name, given, path));
CREATE MACRO pg_show_all_settings() AS TABLE FROM pg_settings;
