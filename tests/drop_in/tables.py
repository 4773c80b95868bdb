"""The tables that the scripts read, with the same rows in PostgreSQL, MariaDB and SQLite."""

from __future__ import annotations

import datetime
import random
import sqlite3
from contextlib import closing
from pathlib import Path

from tests.testbed import mariadb
from tests.testbed import postgres as pg

SCHEMA = """
    create table products (
        id smallint not null primary key, name varchar(40) not null, category varchar(20) not null,
        price numeric(10, 2) not null, weight {numeric}, stock {stock} not null, year {year} not null,
        sku {sku} not null
    );
    create table customers (
        id integer not null primary key, name varchar(40) not null, country char(2) not null,
        birthday date not null, newsletter boolean, referrer_id bigint
    );
    create table orders (
        id bigint not null primary key, customer_id integer not null, product_id smallint not null,
        quantity smallint not null, price numeric(10, 2) not null, discount numeric(4, 3),
        ordered {timestamp} not null, shipped date, status {status} not null, rating smallint
    );
"""
STATES = ("new", "paid", "shipped", "returned")
TYPES = {
    "postgresql": {
        "numeric": "numeric",
        "stock": "smallint",
        "year": "smallint",
        "sku": "bigint",
        "timestamp": "timestamp",
        "status": "state",
    },
    "mariadb": {
        "numeric": "decimal(12, 4)",
        "stock": "smallint unsigned",
        "year": "year",
        "sku": "bigint unsigned",
        "timestamp": "datetime",
        "status": f"enum {STATES}",
    },
    "sqlite": {
        "numeric": "numeric",
        "stock": "smallint",
        "year": "smallint",
        "sku": "bigint",
        "timestamp": "timestamp",
        "status": "text",
    },
}
CATEGORIES = ("books", "garden", "kitchen", "music", "toys")


def script(source: str) -> str:
    """The statements that make the tables and their rows."""
    chance = random.Random(20)
    before = f"create type state as enum {STATES};" if source == "postgresql" else ""
    text = [before, SCHEMA.format(**TYPES[source])]
    prices: list[float] = []
    for product in range(1, 25):
        price = chance.randrange(199, 19_999) / 100
        prices.append(price)
        weight = "null" if product % 8 == 0 else chance.randrange(50, 20_000) / 1000
        text.append(
            f"insert into products values ({product}, 'product {product}', '{CATEGORIES[product % 5]}', {price},"
            f" {weight}, {chance.randrange(1, 900)}, {2015 + product % 11}, {4_006_381_333_900 + product});"
        )
    for customer in range(1, 61):
        born = datetime.date(1950, 1, 1) + datetime.timedelta(chance.randrange(20_000))
        letter = chance.choice(("true", "false", "null"))
        referrer = "null" if customer < 10 or chance.random() < 0.6 else chance.randrange(1, customer)
        country = chance.choice(("DE", "FR", "IN", "BR"))
        text.append(
            f"insert into customers values ({customer}, 'customer {customer}', '{country}', '{born}', {letter},"
            f" {referrer});"
        )
    moment = datetime.datetime(2024, 1, 1, 8)
    for order in range(1, 601):
        moment += datetime.timedelta(minutes=chance.randrange(30, 1500))
        product = chance.randrange(1, 25)
        state = chance.choice(STATES)
        shipped = "null" if state in ("new", "paid") else f"'{moment.date() + datetime.timedelta(chance.randrange(9))}'"
        discount = "null" if chance.random() < 0.3 else chance.randrange(0, 300) / 1000
        rating = "null" if chance.random() < 0.4 else chance.randrange(1, 6)
        text.append(
            f"insert into orders values ({order}, {chance.randrange(1, 61)}, {product}, {chance.randrange(1, 12)},"
            f" {prices[product - 1]}, {discount}, '{moment}', {shipped}, '{state}', {rating});"
        )
    return "\n".join(text)


def in_postgres(cluster: pg.Cluster) -> dict[str, str]:
    """Makes the tables; the URI for each library that reads them."""
    with cluster.connect() as session:
        session.execute("create database drop_in")
    with cluster.connect("drop_in") as session:
        session.execute(script("postgresql"))
    return dict.fromkeys(("pandas", "connectorx", "colonnade"), cluster.uri("drop_in", tcp=True))


def in_mariadb(server: mariadb.Server) -> dict[str, str]:
    """Likewise."""
    server.run(f"create database drop_in; use drop_in; {script('mariadb')}")
    uri = server.uri().replace(f"/{mariadb.DATABASE}", "/drop_in")
    return {"pandas": uri.replace("mysql://", "mysql+pymysql://"), "connectorx": uri, "colonnade": uri}


def in_sqlite(directory: Path) -> dict[str, str]:
    """Likewise."""
    path = directory / "drop_in.db"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(script("sqlite"))
    return {"pandas": f"sqlite:///{path}", "connectorx": f"sqlite://{path}", "colonnade": f"sqlite:///{path}"}
