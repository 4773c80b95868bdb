-- The sessions (serve/protocol/src/caller.rs), for databases that have `colonnade_signal`.
CREATE MACRO pg_cancel_backend(pid) AS system.main.colonnade_signal('cancel', pid::INTEGER, 0::BIGINT);
CREATE MACRO pg_terminate_backend(pid) AS system.main.colonnade_signal('terminate', pid::INTEGER, 0::BIGINT);
CREATE MACRO pg_terminate_backend(pid, timeout) AS system.main.colonnade_signal('terminate', pid::INTEGER, timeout::BIGINT);
