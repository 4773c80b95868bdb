"""What a rating depends on: scikit-learn's linear regression, as its user guide begins."""

import sys

from pandas import read_sql
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.metrics import mean_absolute_error, r2_score
from sklearn.preprocessing import StandardScaler

uri = sys.argv[1]
orders = read_sql("select quantity, price, discount, rating from orders order by id", uri)
orders = orders.dropna(subset=["rating"]).fillna({"discount": 0})
features, target = orders[["quantity", "price", "discount"]], orders["rating"]
model = LinearRegression().fit(features, target)
scaled = StandardScaler().fit_transform(features)
ridge = Ridge(alpha=2.0).fit(scaled, target)
result = {
    "coefficients": model.coef_,
    "intercept": model.intercept_,
    "score": r2_score(target, model.predict(features)),
    "error": mean_absolute_error(target, model.predict(features)),
    "scaled": scaled.mean(axis=0).round(9) + scaled.std(axis=0),
    "ridge": ridge.coef_,
}
