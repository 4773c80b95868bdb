\echo Use "ALTER EXTENSION colonnade UPDATE TO '0.2.5'" to load this file. \quit

-- The objects of version 0.2.4 are those of version 0.2.5.
