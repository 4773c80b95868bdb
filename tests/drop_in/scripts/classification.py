"""Who returns goods: ConnectorX for the data, scikit-learn for a pipeline."""

import sys

import pandas as pd
from connectorx import read_sql
from sklearn.ensemble import RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

uri = sys.argv[1]
frame = read_sql(
    uri,
    "select o.quantity, o.price, o.discount, o.status, c.country from orders o"
    " join customers c on c.id = o.customer_id order by o.id",
)
features = pd.get_dummies(frame[["quantity", "price", "discount", "country"]], columns=["country"])
returned = (frame["status"] == "returned").astype(int)
train, test, train_target, test_target = train_test_split(features, returned, test_size=0.25, random_state=1)
pipeline = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(train, train_target)
forest = RandomForestClassifier(20, random_state=1).fit(train.fillna(0), train_target)
result = {
    "probabilities": pipeline.predict_proba(test)[:, 1],
    "score": pipeline.score(test, test_target),
    "importances": forest.feature_importances_,
    "returned": returned.sum(),
}
