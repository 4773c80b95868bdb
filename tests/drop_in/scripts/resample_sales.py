"""Weekly sales: pandas' "time series" with resample, rolling windows and changes."""

import sys

from pandas import read_sql

uri = sys.argv[1]
sales = read_sql(
    "select ordered, quantity, price from orders order by ordered", uri, index_col="ordered", parse_dates=["ordered"]
)
sales["total"] = sales["quantity"] * sales["price"]
weekly = sales["total"].resample("W").sum()
monthly = sales.resample("MS").agg({"quantity": "sum", "total": "mean"})
result = {
    "weekly": weekly,
    "monthly": monthly,
    "rolling": weekly.rolling(4).mean(),
    "smoothed": weekly.ewm(span=3).mean(),
    "change": weekly.pct_change(),
    "cumulated": sales["total"].cumsum(),
    "lagged": weekly.shift(1),
    "of march": sales.loc["2024-03", "total"].sum(),
    "expanding": weekly.expanding().max(),
    "autocorrelation": weekly.autocorr(lag=1),
}
