"""Models as pickles that name only classes of scikit-learn, SciPy and numpy."""

from __future__ import annotations

import io
import pickle
import sys
from typing import Any

import numpy

from .refused import ModelError

#: Classes and functions beside scikit-learn's estimators that their pickles name, by modules and names. `*` stands for
#: all classes of the module.
NAMED = {
    "builtins": {"bytearray", "complex", "frozenset", "range", "set", "slice"},
    "collections": {"OrderedDict", "defaultdict"},
    "numpy": {"dtype", "ndarray"},
    "numpy.dtypes": {"*"},
    "numpy._core.multiarray": {"_reconstruct", "scalar"},
    "numpy.core.multiarray": {"_reconstruct", "scalar"},
    "numpy._core.numeric": {"_frombuffer"},
    "numpy.random.bit_generator": {"SeedSequence", "__pyx_unpickle_SeedSequence"},
    "numpy.random._pickle": {"__randomstate_ctor", "__generator_ctor", "__bit_generator_ctor"},
    "numpy.random._mt19937": {"MT19937"},
    "numpy.random._pcg64": {"PCG64"},
    "scipy.sparse._csr": {"csr_matrix", "csr_array"},
    "scipy.sparse._csc": {"csc_matrix", "csc_array"},
    "sklearn._loss._loss": {"*", "__pyx_unpickle_*"},
    "sklearn._loss.link": {"*"},
    "sklearn._loss.loss": {"*"},
    "sklearn.calibration": {"_CalibratedClassifier"},
    "sklearn.ensemble._hist_gradient_boosting.predictor": {"TreePredictor"},
    "sklearn.linear_model._sgd_fast": {"*"},
    "sklearn.metrics._dist_metrics": {"*", "newObj"},
    "sklearn.neighbors._ball_tree": {"*", "newObj"},
    "sklearn.neighbors._kd_tree": {"*", "newObj"},
    "sklearn.neural_network._stochastic_optimizers": {"*"},
    "sklearn.tree._tree": {"Tree"},
    "sklearn.utils._bunch": {"Bunch"},
}


class KnownNames(pickle.Unpickler):
    """Reads a pickle that names nothing but what models consist of."""

    def find_class(self, module: str, name: str) -> Any:
        names = NAMED.get(module, set())
        found = None
        # A dot in a name would lead through modules to anything.
        if "." not in name and (names or module.startswith("sklearn.")):
            __import__(module)
            found = getattr(sys.modules[module], name, None)
        if found is not None and name in names:
            return found
        if isinstance(found, type):
            if "*" in names and found.__module__ == module:
                return found
            # numpy has other classes too, such as `memmap`, which writes files.
            if module == "numpy" and issubclass(found, numpy.generic):
                return found
            if module.startswith("sklearn.") and found.__module__ == module and hasattr(found, "get_params"):
                return found
        elif found is not None and name.startswith("__pyx_unpickle_") and "__pyx_unpickle_*" in names:
            return found
        raise ModelError(
            f"the pickle names {module}.{name}, which models of scikit-learn do not consist of; it was not read. "
            "If the model is yours, store it as ONNX"
        )


def pickled_model(model: Any, spec: dict[str, Any]) -> bytes:
    """A model with its description. Reading it again must be possible."""
    found = pickle.dumps({"model": model, "spec": spec}, protocol=5)
    unpickled_model(found)
    return found


def unpickled_model(artifact: bytes) -> tuple[Any, dict[str, Any]]:
    """The model and its description."""
    try:
        found = KnownNames(io.BytesIO(artifact)).load()
        return found["model"], found["spec"]
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"the pickle cannot be read: {type(error).__name__}: {error}") from None
