--liquibase formatted sql

--changeset cid:colours
--preconditions onFail:MARK_RAN
--precondition-sql-check expectedResult:0 SELECT count(*) FROM pg_type WHERE typname = 'colour'
CREATE TYPE colour AS ENUM ('red', 'green');
CREATE TABLE paints (id serial PRIMARY KEY, colour colour NOT NULL DEFAULT 'red', details jsonb);
INSERT INTO paints (colour, details) VALUES ('green', '{"litres": 2}');
--rollback DROP TABLE paints;
--rollback DROP TYPE colour;

--changeset cid:totals runOnChange:true splitStatements:false
CREATE OR REPLACE VIEW totals AS
SELECT shops.name, sum(sales.amount) AS total FROM shops JOIN sales ON sales.shop_id = shops.id GROUP BY shops.name;
--rollback DROP VIEW totals;
