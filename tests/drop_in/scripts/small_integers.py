"""Arithmetic on the small and unsigned integers of a database."""

import sys

from pandas import read_sql

uri = sys.argv[1]
products = read_sql("select id, stock, year, sku from products order by id", uri)
orders = read_sql("select product_id, quantity from orders order by id", uri)
result = {
    "product": products["stock"] * products["stock"] * 9000,
    "square": products["year"] ** 2,
    "age": products["year"] - 2025,
    "below zero": products["stock"] - 1000,
    "difference": products["stock"].diff(),
    "number": products["sku"] - 4_006_381_333_910,
    "number times two": (products["sku"] * 2).sum(),
    "negative": -products["stock"],
    "sum": orders["quantity"].cumsum() * 1000,
    "days": products["stock"] * 24 * 60 * 60,
    "of a row": products.loc[0, "stock"] * 1_000_000,
    "mean": products[["stock", "year", "sku"]].mean(),
    "identifiers": orders["product_id"] * 1_000_000 + orders["quantity"],
}
