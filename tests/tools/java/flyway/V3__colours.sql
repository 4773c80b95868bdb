CREATE TYPE colour AS ENUM ('red', 'green');
CREATE TABLE paints (id serial PRIMARY KEY, colour colour NOT NULL DEFAULT 'red', details jsonb);
INSERT INTO paints (colour, details) VALUES ('green', '{"litres": 2}');
