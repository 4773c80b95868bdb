"""The parts of the functions that `colonnade ml install` creates.

Each module is a part of a body: the installation joins the texts of the parts that a function needs (`_statements.py`),
and the worker's interpreter, which need not have this package, runs them. So a part imports only the standard library,
numpy, the libraries of machine learning and, by their names, other parts. Python's side of `colonnade.ml` imports the
same modules.
"""

from colonnade._libraries import require

require("numpy", "colonnade.ml", "ml")
require("pyarrow", "colonnade.ml", "ml")
