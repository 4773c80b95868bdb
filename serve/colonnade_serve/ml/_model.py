"""A stored model in this process."""

from __future__ import annotations

from typing import Any

from colonnade._libraries import require

from ._bodies.applied import applied
from ._bodies.artifacts import opened_artifact
from ._frames import columns_of


class Model:
    """A model that `colonnade.ml.load` has read.

    Attributes:
        name: Its name.
        version: Its version.
        task: `"classification"` or `"regression"`.
        format: `"onnx"` or `"pickle"`.
        features: The names of the columns that it needs.
        classes: The classes of a classification, in the order of the columns of `predict_proba`.
        estimator: The estimator or pipeline of scikit-learn, for a pickle. One that was trained in the database gets
            the numbers of categories, and predicts the numbers of classes; `predict` does both conversions.
        session: The onnxruntime.InferenceSession, for ONNX.
    """

    def __init__(self, row: dict[str, Any]) -> None:
        self.name: str = row["name"]
        self.version: int = row["version"]
        self.format: str = row["format"]
        self._opened, self._spec = opened_artifact(f"{self.name}@{self.version}", row)
        self.task: str = self._spec["task"]
        self.features: list[str] = [one["name"] for one in self._spec["features"]]
        self.classes: list[Any] = self._spec.get("classes", [])
        self.estimator: Any = self._opened if self.format == "pickle" else None
        self.session: Any = self._opened if self.format == "onnx" else None

    def predict(self, rows: Any) -> Any:
        """Predicts the class or the number of each row.

        Args:
            rows: A frame or a table with the features as columns, or arrays by their names. Other columns are ignored.

        Returns:
            An array of NumPy with an item for each row.

        Raises:
            ModelError: A feature is missing, or has another type than in the training.
        """
        return applied(self._opened, self._spec, columns_of(rows), False)[0].to_numpy(zero_copy_only=False)

    def predict_proba(self, rows: Any) -> Any:
        """Predicts the probability of each class.

        Args:
            rows: As for `predict`.

        Returns:
            An array with a row for each row and a column for each of `classes`.

        Raises:
            ModelError: The model has no probabilities, or as for `predict`.
        """
        numpy = require("numpy", "colonnade.ml")
        return numpy.asarray(applied(self._opened, self._spec, columns_of(rows), True)[1], numpy.float64)

    def __repr__(self) -> str:
        return f"<colonnade.ml.Model {self.name}@{self.version}, {self.task}, {self.format}>"
