"""Models as rows of a database: train and apply them in SQL, and move them between the database and Python.

`colonnade ml install` creates the functions and the table (docs/reference/ml.md). The code is in the package
`colonnade_serve`, whose wheel comes with the extra `ml`.
"""

from ._libraries import must_be_of_one_version, server_part

must_be_of_one_version("colonnade.ml")
try:
    from colonnade_serve.ml import Model, ModelError, install, load, models, save
except ModuleNotFoundError:
    # It says what to install, or where it runs.
    server_part("ml", "colonnade.ml", extra="ml")
    raise

__all__ = ["Model", "ModelError", "install", "load", "models", "save"]
