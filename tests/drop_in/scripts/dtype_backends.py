"""pandas' own choices of types: dtype_backend and dtype."""

import sys

from pandas import read_sql

uri = sys.argv[1]
query = "select id, quantity, price, discount, rating, status from orders order by id"
masked = read_sql(query, uri, dtype_backend="numpy_nullable")
arrow = read_sql(query, uri, dtype_backend="pyarrow")
given = read_sql(query, uri, dtype={"price": "float32", "quantity": "int16", "status": "category", "rating": "Int64"})
exact = read_sql("select price, discount from orders order by id", uri, coerce_float=False)
result = {
    "masked": masked.groupby("status")["price"].sum(),
    "masked quantile": masked["price"].quantile(0.25),
    "masked types": [str(masked[name].dtype) for name in ("id", "quantity", "price", "rating")],
    "arrow": arrow.groupby("status")["price"].mean(),
    "arrow product": (arrow["price"] * arrow["quantity"] * 1.19).sum(),
    "arrow nulls": arrow["rating"].isna().sum(),
    "arrow of discounts": arrow["discount"].std(),
    "given": [str(given[name].dtype) for name in ("quantity", "price", "rating", "status")],
    "given sum": given["price"].astype("float64").sum(),
    "given rating": given["rating"].sum(),
    "exact": float(sum(exact["price"])),
    "one type": read_sql("select id, price from orders order by id", uri, dtype="float64").sum(),
}
