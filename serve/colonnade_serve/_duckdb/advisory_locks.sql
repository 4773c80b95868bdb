-- Locks of sessions (serve/protocol/src/advisory.rs), for databases that have `colonnade_advisory`. The functions that give nothing in PostgreSQL give an empty text, as its clients see it.
CREATE MACRO pg_advisory_lock(key) AS CASE WHEN system.main.colonnade_advisory('lock', key::BIGINT, NULL::INTEGER) THEN '' END;
CREATE MACRO pg_advisory_lock(key, second) AS
    CASE WHEN system.main.colonnade_advisory('lock', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER) THEN '' END;
CREATE MACRO pg_advisory_lock_shared(key) AS
    CASE WHEN system.main.colonnade_advisory('lock shared', key::BIGINT, NULL::INTEGER) THEN '' END;
CREATE MACRO pg_advisory_lock_shared(key, second) AS
    CASE WHEN system.main.colonnade_advisory('lock shared', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER) THEN '' END;
CREATE MACRO pg_advisory_xact_lock(key) AS
    CASE WHEN system.main.colonnade_advisory('lock transaction', key::BIGINT, NULL::INTEGER) THEN '' END;
CREATE MACRO pg_advisory_xact_lock(key, second) AS
    CASE WHEN system.main.colonnade_advisory('lock transaction', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER) THEN '' END;
CREATE MACRO pg_advisory_xact_lock_shared(key) AS
    CASE WHEN system.main.colonnade_advisory('lock transaction shared', key::BIGINT, NULL::INTEGER) THEN '' END;
CREATE MACRO pg_advisory_xact_lock_shared(key, second) AS
    CASE WHEN system.main.colonnade_advisory('lock transaction shared', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER) THEN '' END;
CREATE MACRO pg_try_advisory_lock(key) AS system.main.colonnade_advisory('try', key::BIGINT, NULL::INTEGER);
CREATE MACRO pg_try_advisory_lock(key, second) AS
    system.main.colonnade_advisory('try', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER);
CREATE MACRO pg_try_advisory_lock_shared(key) AS system.main.colonnade_advisory('try shared', key::BIGINT, NULL::INTEGER);
CREATE MACRO pg_try_advisory_lock_shared(key, second) AS
    system.main.colonnade_advisory('try shared', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER);
CREATE MACRO pg_try_advisory_xact_lock(key) AS system.main.colonnade_advisory('try transaction', key::BIGINT, NULL::INTEGER);
CREATE MACRO pg_try_advisory_xact_lock(key, second) AS
    system.main.colonnade_advisory('try transaction', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER);
CREATE MACRO pg_try_advisory_xact_lock_shared(key) AS system.main.colonnade_advisory('try transaction shared', key::BIGINT, NULL::INTEGER);
CREATE MACRO pg_try_advisory_xact_lock_shared(key, second) AS
    system.main.colonnade_advisory('try transaction shared', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER);
CREATE MACRO pg_advisory_unlock(key) AS system.main.colonnade_advisory('unlock', key::BIGINT, NULL::INTEGER);
CREATE MACRO pg_advisory_unlock(key, second) AS
    system.main.colonnade_advisory('unlock', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER);
CREATE MACRO pg_advisory_unlock_shared(key) AS system.main.colonnade_advisory('unlock shared', key::BIGINT, NULL::INTEGER);
CREATE MACRO pg_advisory_unlock_shared(key, second) AS
    system.main.colonnade_advisory('unlock shared', CASE WHEN second IS NOT NULL THEN key::INTEGER END::BIGINT, second::INTEGER);
CREATE MACRO pg_advisory_unlock_all() AS
    CASE WHEN system.main.colonnade_advisory('unlock all', 0::BIGINT, NULL::INTEGER) THEN '' END;
