-- The first version: tables, keys and an index.
CREATE TABLE shops (
    id bigserial PRIMARY KEY,
    name varchar(80) NOT NULL UNIQUE,
    opened date NOT NULL DEFAULT current_date,
    created_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE sales (
    id serial,
    shop_id bigint NOT NULL,
    amount numeric(9, 2) NOT NULL CHECK (amount > 0),
    note text,
    CONSTRAINT sales_pkey PRIMARY KEY (id),
    CONSTRAINT sales_shop_fk FOREIGN KEY (shop_id) REFERENCES shops (id)
);

COMMENT ON TABLE shops IS 'Where; things are sold';

CREATE INDEX sales_shop_id ON sales (shop_id);
