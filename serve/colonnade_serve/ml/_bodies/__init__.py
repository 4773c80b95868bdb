"""The parts of the functions that `colonnade ml install` creates.

Each module is a part of a body: the installation joins the texts of the parts that a function needs (`_statements.py`),
and their interpreter, which need not have this package, runs them. So a part imports only the standard library,
numpy, the libraries of machine learning and, by their names, other parts. Python's side of `colonnade.ml` imports the
same modules.

All names of parts are different, because they are global names of the function, which the first call of a process
defines: for one row, defining them took longer than the prediction. Columns are local variables of a body and may have
any name. So the whole text is a function inside the body, which declares all names that it uses as global, builtins
too.

- Columns are arrays of pyarrow (PARAMETER STYLE ARROW). `predict` returns the columns of its query as it got them, and
  the server has them already (`ColumnSource::Argument`).
- Columns become a matrix here, and not in scikit-learn's transformers: by rows for predictions, by columns for
  training. Estimators that are no trees get a pipeline that scales numbers and makes a column for each category.
  Pipelines predict blocks of 16,384 rows, because each step reads and writes the matrix; trees and ONNX gain nothing
  from blocks. `sklearn.config_context(assume_finite=True)` is not used, though the matrix is finite: it would also skip
  the check of what a scaler makes of it, which may overflow.
- The converter of trees over histograms gives onnx booleans that it refuses; `histogram_nodes` makes them integers
  while it runs.
- A feature has a unit (`columns.unit_of`): days for dates, seconds for times. A frame of pandas has a timestamp where
  the database has a date, and without units its seconds would be taken for days.

`docs/decisions/0017-models-are-rows.md` has the reasons and the figures.
"""

from colonnade._libraries import require

require("numpy", "colonnade.ml", "ml")
require("pyarrow", "colonnade.ml", "ml")
