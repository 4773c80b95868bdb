"""A summary written to another database: pandas' to_sql, and sqlite3 to look at it."""

import sqlite3
import sys

from pandas import read_sql

uri = sys.argv[1]
orders = read_sql("select id, product_id, quantity, price, discount, rating, status from orders order by id", uri)
orders["total"] = orders["price"] * orders["quantity"]
with sqlite3.connect(":memory:") as other:
    orders.to_sql("copied", other, index=False)
    orders.groupby("status")["total"].sum().to_sql("totals", other)
    result = {
        "sums": other.execute("select sum(quantity), sum(price), sum(total), avg(discount) from copied").fetchone(),
        "types": other.execute(
            "select distinct typeof(price), typeof(quantity), typeof(status) from copied"
        ).fetchall(),
        "nulls": other.execute("select count(*) from copied where rating is null").fetchone(),
        "ratings": other.execute("select rating, count(*) from copied group by rating order by rating").fetchall(),
        "totals": other.execute("select * from totals order by status").fetchall(),
    }
other.close()
