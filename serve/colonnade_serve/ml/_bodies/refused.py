"""What training and prediction refuse."""

from __future__ import annotations


class ModelError(ValueError):
    """A model, its parameters or its columns cannot be used. The message says what to do."""

    sqlstate = "55000"
