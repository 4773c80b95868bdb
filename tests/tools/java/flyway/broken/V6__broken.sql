CREATE TABLE half (id integer);
INSERT INTO nowhere VALUES (1);
