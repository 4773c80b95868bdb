\echo Use "CREATE EXTENSION colonnade" to load this file. \quit

CREATE FUNCTION colonnade_version() RETURNS int
    LANGUAGE c STABLE STRICT PARALLEL SAFE
    AS 'MODULE_PATHNAME';

COMMENT ON FUNCTION colonnade_version() IS
    'the highest version of the Colonnade stream format that is sent; a call loads the library into the session';
