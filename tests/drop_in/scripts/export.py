"""Rows for a web page: pandas' to_dict, to_json and to_html, and the json module."""

import json
import sys

from pandas import read_sql

uri = sys.argv[1]
orders = read_sql("select id, quantity, price, discount, rating, status from orders where id <= 40 order by id", uri)
rows = orders.fillna(0).to_dict(orient="records")
result = {
    "rows": json.loads(json.dumps(rows)),
    "json": json.loads(orders.to_json(orient="records")),
    "split": json.loads(orders.to_json(orient="split"))["data"],
    "dict": orders.set_index("id")["price"].to_dict(),
    "tuples": [tuple(row) for row in orders[["id", "price"]].itertuples(index=False)],
    "text": orders[["id", "quantity", "price", "rating"]].to_string(),
    "html": orders[["id", "price", "rating"]].to_html(),
    "numbers": orders[["quantity", "price", "rating"]].to_numpy().tolist(),
    "values": orders["price"].values.sum(),
    "list": orders["price"].tolist(),
    "formatted": [f"{row.price:8.2f} {row.quantity:d}" for row in orders.itertuples()],
}
