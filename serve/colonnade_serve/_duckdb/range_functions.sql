-- PostgreSQL's constructors of ranges and multiranges: texts that are cast (`keyed.rs`).

CREATE MACRO bound_text(bound) AS coalesce('"' || replace(replace(bound::VARCHAR, '\', '\\'), '"', '""') || '"', '');
CREATE MACRO range_text(low, high, bounds) AS
    CASE WHEN bounds IN ('[]', '[)', '(]', '()') THEN bounds[1] || bound_text(low) || ',' || bound_text(high) || bounds[2]
         ELSE error('invalid range bound flags: valid values are "[]", "[)", "(]", and "()"') END;

CREATE MACRO int4range(low, high) AS range_text(low, high, '[)')::int4range;
CREATE MACRO int4range(low, high, bounds) AS range_text(low, high, bounds)::int4range;
CREATE MACRO int4multirange() AS '{}'::int4multirange;
CREATE MACRO int4multirange(a) AS ('{' || a::int4range::VARCHAR || '}')::int4multirange;
CREATE MACRO int4multirange(a, b) AS ('{' || a::int4range::VARCHAR || ',' || b::int4range::VARCHAR || '}')::int4multirange;
CREATE MACRO int4multirange(a, b, c) AS ('{' || a::int4range::VARCHAR || ',' || b::int4range::VARCHAR || ',' || c::int4range::VARCHAR || '}')::int4multirange;
CREATE MACRO int4multirange(a, b, c, d) AS ('{' || a::int4range::VARCHAR || ',' || b::int4range::VARCHAR || ',' || c::int4range::VARCHAR || ',' || d::int4range::VARCHAR || '}')::int4multirange;
CREATE MACRO int8range(low, high) AS range_text(low, high, '[)')::int8range;
CREATE MACRO int8range(low, high, bounds) AS range_text(low, high, bounds)::int8range;
CREATE MACRO int8multirange() AS '{}'::int8multirange;
CREATE MACRO int8multirange(a) AS ('{' || a::int8range::VARCHAR || '}')::int8multirange;
CREATE MACRO int8multirange(a, b) AS ('{' || a::int8range::VARCHAR || ',' || b::int8range::VARCHAR || '}')::int8multirange;
CREATE MACRO int8multirange(a, b, c) AS ('{' || a::int8range::VARCHAR || ',' || b::int8range::VARCHAR || ',' || c::int8range::VARCHAR || '}')::int8multirange;
CREATE MACRO int8multirange(a, b, c, d) AS ('{' || a::int8range::VARCHAR || ',' || b::int8range::VARCHAR || ',' || c::int8range::VARCHAR || ',' || d::int8range::VARCHAR || '}')::int8multirange;
CREATE MACRO numrange(low, high) AS range_text(low, high, '[)')::numrange;
CREATE MACRO numrange(low, high, bounds) AS range_text(low, high, bounds)::numrange;
CREATE MACRO nummultirange() AS '{}'::nummultirange;
CREATE MACRO nummultirange(a) AS ('{' || a::numrange::VARCHAR || '}')::nummultirange;
CREATE MACRO nummultirange(a, b) AS ('{' || a::numrange::VARCHAR || ',' || b::numrange::VARCHAR || '}')::nummultirange;
CREATE MACRO nummultirange(a, b, c) AS ('{' || a::numrange::VARCHAR || ',' || b::numrange::VARCHAR || ',' || c::numrange::VARCHAR || '}')::nummultirange;
CREATE MACRO nummultirange(a, b, c, d) AS ('{' || a::numrange::VARCHAR || ',' || b::numrange::VARCHAR || ',' || c::numrange::VARCHAR || ',' || d::numrange::VARCHAR || '}')::nummultirange;
CREATE MACRO daterange(low, high) AS range_text(low, high, '[)')::daterange;
CREATE MACRO daterange(low, high, bounds) AS range_text(low, high, bounds)::daterange;
CREATE MACRO datemultirange() AS '{}'::datemultirange;
CREATE MACRO datemultirange(a) AS ('{' || a::daterange::VARCHAR || '}')::datemultirange;
CREATE MACRO datemultirange(a, b) AS ('{' || a::daterange::VARCHAR || ',' || b::daterange::VARCHAR || '}')::datemultirange;
CREATE MACRO datemultirange(a, b, c) AS ('{' || a::daterange::VARCHAR || ',' || b::daterange::VARCHAR || ',' || c::daterange::VARCHAR || '}')::datemultirange;
CREATE MACRO datemultirange(a, b, c, d) AS ('{' || a::daterange::VARCHAR || ',' || b::daterange::VARCHAR || ',' || c::daterange::VARCHAR || ',' || d::daterange::VARCHAR || '}')::datemultirange;
CREATE MACRO tsrange(low, high) AS range_text(low, high, '[)')::tsrange;
CREATE MACRO tsrange(low, high, bounds) AS range_text(low, high, bounds)::tsrange;
CREATE MACRO tsmultirange() AS '{}'::tsmultirange;
CREATE MACRO tsmultirange(a) AS ('{' || a::tsrange::VARCHAR || '}')::tsmultirange;
CREATE MACRO tsmultirange(a, b) AS ('{' || a::tsrange::VARCHAR || ',' || b::tsrange::VARCHAR || '}')::tsmultirange;
CREATE MACRO tsmultirange(a, b, c) AS ('{' || a::tsrange::VARCHAR || ',' || b::tsrange::VARCHAR || ',' || c::tsrange::VARCHAR || '}')::tsmultirange;
CREATE MACRO tsmultirange(a, b, c, d) AS ('{' || a::tsrange::VARCHAR || ',' || b::tsrange::VARCHAR || ',' || c::tsrange::VARCHAR || ',' || d::tsrange::VARCHAR || '}')::tsmultirange;
CREATE MACRO tstzrange(low, high) AS range_text(low, high, '[)')::tstzrange;
CREATE MACRO tstzrange(low, high, bounds) AS range_text(low, high, bounds)::tstzrange;
CREATE MACRO tstzmultirange() AS '{}'::tstzmultirange;
CREATE MACRO tstzmultirange(a) AS ('{' || a::tstzrange::VARCHAR || '}')::tstzmultirange;
CREATE MACRO tstzmultirange(a, b) AS ('{' || a::tstzrange::VARCHAR || ',' || b::tstzrange::VARCHAR || '}')::tstzmultirange;
CREATE MACRO tstzmultirange(a, b, c) AS ('{' || a::tstzrange::VARCHAR || ',' || b::tstzrange::VARCHAR || ',' || c::tstzrange::VARCHAR || '}')::tstzmultirange;
CREATE MACRO tstzmultirange(a, b, c, d) AS ('{' || a::tstzrange::VARCHAR || ',' || b::tstzrange::VARCHAR || ',' || c::tstzrange::VARCHAR || ',' || d::tstzrange::VARCHAR || '}')::tstzmultirange;
