-- Notifications of sessions (serve/protocol/src/notifications.rs), for databases that have `colonnade_notifications`. It gives the channels in one text, with NUL between them.
CREATE MACRO pg_notify(channel, payload) AS system.main.colonnade_notifications('notify', channel::VARCHAR, payload::VARCHAR);
CREATE MACRO listening_channels() AS string_split(system.main.colonnade_notifications('channels', '', ''), chr(0));
CREATE MACRO pg_listening_channels() AS unnest(listening_channels());
CREATE MACRO pg_listening_channels() AS TABLE SELECT unnest(listening_channels()) AS pg_listening_channels;
