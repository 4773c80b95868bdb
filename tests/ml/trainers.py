"""The functions `train_…`, for tests that call each of them."""

from __future__ import annotations

from typing import Any

#: Parameters with which a training is short.
SHORT: dict[str, dict[str, Any]] = {
    "random_forest": {"n_estimators": 5},
    "random_forest_regression": {"n_estimators": 5},
    "gradient_boosting": {"max_iter": 5},
    "gradient_boosting_regression": {"max_iter": 5},
    "neural_network": {"max_iter": 5},
    "neural_network_regression": {"max_iter": 5},
    "logistic_regression": {"max_iter": 500},
}


def is_regression(trainer: str) -> bool:
    return (trainer.endswith("regression") and trainer != "logistic_regression") or trainer == "ridge"
