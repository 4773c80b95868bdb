-- pgAdmin, as it is known to ask; not recorded from a run: connecting, the dashboard, the tree.

SET DateStyle=ISO;
SET client_min_messages=notice;
SELECT set_config('bytea_output','hex',false) FROM pg_show_all_settings() WHERE name = 'bytea_output';
SET client_encoding='UNICODE';
SELECT version();
SELECT db.oid as did, db.datname, db.datallowconn, pg_encoding_to_char(db.encoding) AS serverencoding, has_database_privilege(db.oid, 'CREATE') as cancreate, datistemplate FROM pg_catalog.pg_database db WHERE db.datname = current_database();
SELECT gss_authenticated, encrypted FROM pg_catalog.pg_stat_gssapi WHERE pid = pg_backend_pid();
SELECT roles.oid as id, roles.rolname as name, roles.rolsuper as is_superuser, CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreaterole END as can_create_role, CASE WHEN roles.rolsuper THEN true ELSE roles.rolcreatedb END as can_create_db, CASE WHEN 'pg_signal_backend'=ANY(ARRAY(WITH RECURSIVE cte AS (SELECT pg_roles.oid,pg_roles.rolname FROM pg_roles WHERE pg_roles.oid = roles.oid UNION ALL SELECT m.roleid,pgr.rolname FROM cte cte_1 JOIN pg_auth_members m ON m.member = cte_1.oid JOIN pg_roles pgr ON pgr.oid = m.roleid) SELECT rolname FROM cte)) THEN True ELSE False END as can_signal_backend FROM pg_catalog.pg_roles as roles WHERE rolname = current_user;
SELECT CASE WHEN (count(*) > 0) THEN true ELSE false END AS has_replication FROM pg_catalog.pg_replication_slots;
SELECT slot_name, plugin, slot_type, database, active FROM pg_catalog.pg_replication_slots ORDER BY slot_name;
SELECT db.oid AS did, db.datname AS name, db.dattablespace AS spcoid, spcname, datallowconn, pg_catalog.pg_encoding_to_char(encoding) AS encoding, pg_catalog.pg_get_userbyid(datdba) AS datowner, db.datcollate, datconnlimit, pg_catalog.has_database_privilege(db.oid, 'CREATE') AS cancreate, descr.description AS comments FROM pg_catalog.pg_database db LEFT OUTER JOIN pg_catalog.pg_tablespace ta ON db.dattablespace=ta.oid LEFT OUTER JOIN pg_catalog.pg_shdescription descr ON (db.oid=descr.objoid AND descr.classoid='pg_database'::regclass) WHERE datallowconn ORDER BY datname;
SELECT nsp.oid, nsp.nspname as name, pg_catalog.has_schema_privilege(nsp.oid, 'CREATE') as can_create, pg_catalog.has_schema_privilege(nsp.oid, 'USAGE') as has_usage, des.description FROM pg_catalog.pg_namespace nsp LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid=nsp.oid AND des.classoid='pg_namespace'::regclass) WHERE nspname NOT LIKE 'pg\_%' AND nsp.nspname <> 'information_schema' ORDER BY nspname;
SELECT rel.oid, rel.relname AS name, (SELECT count(*) FROM pg_catalog.pg_trigger WHERE tgrelid=rel.oid AND tgisinternal = FALSE) AS triggercount, rel.relpersistence FROM pg_catalog.pg_class rel WHERE rel.relkind IN ('r','s','t','p') AND rel.relnamespace = 'public'::regnamespace AND NOT rel.relispartition ORDER BY rel.relname;
SELECT DISTINCT att.attname as name, att.attnum as OID, pg_catalog.format_type(att.atttypid,NULL) as datatype, att.attnotnull as not_null, CASE WHEN att.atthasdef OR att.attidentity != '' OR ty.typdefault IS NOT NULL THEN True ELSE False END as has_default_val, des.description FROM pg_catalog.pg_attribute att LEFT JOIN pg_catalog.pg_type ty ON ty.oid=atttypid LEFT OUTER JOIN pg_catalog.pg_description des ON (des.objoid=att.attrelid AND des.objsubid=att.attnum AND des.classoid='pg_class'::regclass) WHERE att.attrelid = 'orders'::regclass AND att.attnum > 0 AND att.attisdropped IS FALSE ORDER BY att.attnum;
SELECT pid, datname, usename, application_name, client_addr, pg_catalog.to_char(backend_start, 'YYYY-MM-DD HH24:MI:SS TZ') AS backend_start, state, wait_event FROM pg_catalog.pg_stat_activity WHERE datname = current_database() AND backend_start IS NOT NULL ORDER BY pid;
SELECT locktype, mode, granted FROM pg_catalog.pg_locks ORDER BY pid;
SELECT gid, prepared, owner, database FROM pg_catalog.pg_prepared_xacts ORDER BY gid;
SELECT (SELECT count(*) FROM pg_catalog.pg_stat_activity) AS "Total", (SELECT sum(tup_inserted) FROM pg_catalog.pg_stat_database) AS "Inserts";
SELECT name, setting, unit, short_desc FROM pg_catalog.pg_settings ORDER BY name;
SELECT oid, extname FROM pg_catalog.pg_extension;
SELECT CASE WHEN usesuper THEN pg_catalog.pg_is_in_recovery() ELSE FALSE END as inrecovery, CASE WHEN usesuper AND pg_catalog.pg_is_in_recovery() THEN pg_is_wal_replay_paused() ELSE FALSE END as isreplaypaused FROM pg_catalog.pg_user WHERE usename=current_user;
SELECT CASE WHEN (SELECT count(extname) FROM pg_catalog.pg_extension WHERE extname='bdr') > 0 THEN 'pgd' WHEN (SELECT COUNT(*) FROM pg_catalog.pg_replication_slots) > 0 THEN 'log' ELSE NULL END as type;
SELECT oid, pg_catalog.format_type(oid, NULL) AS typname FROM pg_catalog.pg_type WHERE oid IN (25) ORDER BY oid;
