-- A column for each type and for each kind of value that readers are known to lose. Rows: 1 ordinary, 2 the lowest,
-- 3 the highest, 4 special (NaN, infinity, empty), 5 NULL, 6 special once more.
CREATE EXTENSION hstore SCHEMA public;
CREATE TYPE tt_enum AS ENUM ('sad','ok','happy'); CREATE TYPE tt_comp AS (a int, b text); CREATE DOMAIN tt_dom AS int CHECK (VALUE > 0);
CREATE TABLE torture (
  id int PRIMARY KEY,
  c_bool bool, c_int2 int2, c_int4 int4, c_int8 int8, c_oid oid, c_float4 float4, c_float8 float8,
  c_num15_2 numeric(15,2), c_num38_10 numeric(38,10), c_num50_20 numeric(50,20), c_numeric numeric, c_numeric_nan numeric, c_numeric_inf numeric, c_money money,
  c_text text, c_varchar varchar(20), c_char10 char(10), c_qchar "char", c_name name, c_bytea bytea,
  c_date date, c_date_inf date, c_date_far date, c_ts timestamp, c_ts_inf timestamp, c_ts_far timestamp, c_tstz timestamptz, c_tstz_inf timestamptz,
  c_time time, c_time24 time, c_timetz timetz, c_interval interval, c_interval_s interval,
  c_uuid uuid, c_json json, c_jsonb jsonb, c_int4_arr int4[], c_text_arr text[], c_int4_arr2d int4[], c_num_arr numeric[],
  c_enum tt_enum, c_domain tt_dom, c_comp tt_comp, c_int4range int4range, c_inet inet, c_cidr cidr, c_macaddr macaddr,
  c_bit8 bit(8), c_varbit varbit, c_xml xml, c_tsvector tsvector, c_point point, c_hstore hstore, c_pg_lsn pg_lsn);
INSERT INTO torture (id, c_bool, c_int2, c_int4, c_int8, c_oid, c_float4, c_float8, c_num15_2, c_num38_10, c_num50_20, c_numeric, c_numeric_nan, c_numeric_inf, c_money,
  c_text, c_varchar, c_char10, c_qchar, c_name, c_bytea, c_date, c_date_inf, c_date_far, c_ts, c_ts_inf, c_ts_far, c_tstz, c_tstz_inf, c_time, c_time24, c_timetz, c_interval, c_interval_s,
  c_uuid, c_json, c_jsonb, c_int4_arr, c_text_arr, c_int4_arr2d, c_num_arr, c_enum, c_domain, c_comp, c_int4range, c_inet, c_cidr, c_macaddr, c_bit8, c_varbit, c_xml, c_tsvector, c_point, c_hstore, c_pg_lsn) VALUES
(1, true, 1, 1, 9007199254740993, 1, 0.1, 0.1, 1234567890123.45, 1234567890123456789012345678.0123456789, 123456789012345678901234567890.01234567890123456789, 0.1, 1.5, 1.5, 12.34,
  'plain', 'v', 'ab', 'x', 'nm', '\x00ff10', '2024-02-29', '2024-02-29', '2024-02-29', '2024-02-29 12:34:56.789012', '2024-01-01 00:00:00', '2024-01-01 00:00:00', '2024-02-29 12:34:56.789012+02', '2024-01-01 00:00:00+00', '12:34:56.789012', '12:00:00', '12:34:56.789012+05:30', '1 year 2 mons 3 days 04:05:06.789', '04:05:06.789',
  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1,  "b":[true,null]}', '{"a": 1, "b": [true, null]}', '{1,2,3}', '{a,b}', '{{1,2},{3,4}}', '{1.5,2.25}', 'ok', 7, '(1,"x y")', '[1,10)', '192.168.1.5/24', '192.168.0.0/16', '08:00:2b:01:02:03', B'10101010', B'101', '<a>b</a>', 'cat rat', '(1.5,-2)', 'k=>v', '16/B374D848'),
(2, false, -32768, -2147483648, -9223372036854775808, 0, '-3.4028235e38', '-1.7976931348623157e308', -9999999999999.99, -9999999999999999999999999999.9999999999, -999999999999999999999999999999.99999999999999999999, -1e-30, -1e10, -1e10, '-92233720368547758.08',
  '', '', '', 'a', '', '\x', '0001-01-01', '-infinity', '4713-01-01 BC', '0001-01-01 00:00:00', '-infinity', '4713-01-01 00:00:00 BC', '0001-01-02 00:00:00+00', '-infinity', '00:00:00', '00:00:00', '00:00:00-12', '-1 years -2 mons +3 days -04:05:06.789', '-100:00:00.000001',
  '00000000-0000-0000-0000-000000000000', 'null', 'null', '{}', '{}', '{}', '{}', 'sad', 1, '(,)', 'empty', '::1', '::/0', '00:00:00:00:00:00', B'00000000', B'', '<a/>', '', '(0,0)', '', '0/0'),
(3, true, 32767, 2147483647, 9223372036854775807, 4294967295, '3.4028235e38', '1.7976931348623157e308', 9999999999999.99, 9999999999999999999999999999.9999999999, 999999999999999999999999999999.99999999999999999999, 123456789012345678901234567890123456789012345678901234567890.5, 1e20, 1e20, '92233720368547758.07',
  'ünïcödé 漢字 😀', 'ünï 漢字 😀', 'ünï', 'z', 'ünï', '\x27275c0a', '9999-12-31', 'infinity', '5874897-12-31', '9999-12-31 23:59:59.999999', 'infinity', '294276-12-31 23:59:59.999999', '9999-12-30 23:59:59.999999+00', 'infinity', '23:59:59.999999', '24:00:00', '23:59:59.999999+12', '178000000 years', '999999:59:59.999999',
  'ffffffff-ffff-ffff-ffff-ffffffffffff', '"漢"', '"漢"', '{2147483647,-2147483648}', '{"with ,comma","q\"uote",""}', '{{1,NULL}}', '{NaN,1e30}', 'happy', 2147483647, '(2147483647,"a,""b")', '(,5)', '255.255.255.255', '10.0.0.0/8', 'ff:ff:ff:ff:ff:ff', B'11111111', B'1111111111111111', '<a>漢</a>', 'a:1 b:2', '(1e300,-1e300)', '"a b"=>NULL', 'FFFFFFFF/FFFFFFFF'),
(4, false, 0, 0, 0, 42, 'NaN', 'NaN', 0.00, 0, 0, 0, 'NaN', 'Infinity', 0, E'tab\tnl\nbs\\', E'q"''', 'full char.', ' ', 'a b', '\x00', '1970-01-01', '2000-01-01', '2000-01-01', '1970-01-01 00:00:00', '2000-01-01 00:00:00', '2000-01-01 00:00:00', '1969-12-31 23:59:59.999999+00', '2000-01-01 00:00:00+00', '00:00:00.000001', '12:00:00', '00:00:00+00', '00:00:00', '00:00:00',
  '12345678-1234-1234-1234-123456789abc', '1e400', '100000000000000000000000000000.5', '{NULL,1}', '{NULL,"NULL"}', '{{{1}}}', '{NULL}', 'ok', 5, '(0,NULL)', '[5,)', '10.1.2.3', '2001:db8::/32', '01:02:03:04:05:06', B'00000001', B'0', '<a>&lt;</a>', '''x y'':3A', '(NaN,Infinity)', 'a=>1, b=>2', '1/1'),
(5, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),
(6, true, 5, 5, 5, 5, '-Infinity', 'Infinity', 0.10, 0.0000000001, 0.00000000000000000001, 1.10, 2.50, '-Infinity', 0.01, 'NULL', '\N', 'trail  ', 'q', 'NULL', '\xdeadbeef', '1582-10-10', '1999-12-31', '1999-12-31', '2024-03-31 02:30:00', '1999-12-31 00:00:00', '1999-12-31 00:00:00', '2024-03-31 02:30:00+01', '1999-12-31 00:00:00+00', '01:02:03', '13:00:00', '01:02:03-03:30', '1 mon', '1 day',
  'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12', '{"k":1,"k":2}', '{"k": 2}', '{5}', '{x}', '{1,2}', '{1.10}', 'ok', 6, '(3,)', '[1,2)', '10.0.0.1/32', '1.2.3.4/32', '0a:0b:0c:0d:0e:0f', B'01010101', B'01', 'text', 'z', '(-0,0)', '""=>""', 'A/0');
