-- flyway:executeInTransaction is in the file V5.1__later.sql.conf.
CREATE INDEX CONCURRENTLY paints_litres ON paints (litres);
