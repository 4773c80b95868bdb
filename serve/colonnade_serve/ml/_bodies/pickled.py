"""Models as pickles that name only classes of scikit-learn, SciPy and numpy."""

from __future__ import annotations

import importlib
import io
import pickle
import sys
from typing import Any, ClassVar

import numpy

from .refused import ModelError

#: Classes and functions other than scikit-learn's estimators that their pickles name, by modules and names. `*` stands
#: for all classes of the module.
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
    "numpy.random._generator": {"Generator"},
    "numpy.random._mt19937": {"MT19937"},
    "numpy.random._pcg64": {"PCG64"},
    "numpy.random.mtrand": {"RandomState"},
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


def has_estimators(module: str) -> bool:
    """Whether a module may have estimators: a public package of scikit-learn, what it imports, and its private modules.
    Others, such as tests, are not imported: that could change the process."""
    library, package, *inner = [*module.split("."), ""]
    if library != "sklearn" or package not in importlib.import_module(library).__all__:
        return False
    importlib.import_module(f"{library}.{package}")
    return module in sys.modules or inner[0].startswith("_")


def permitted(module: str, name: str) -> Any:
    """The class or function of this name; None if models do not consist of it."""
    names = NAMED.get(module, set())
    # A dot in a name would lead through modules to anything.
    if "." in name or not (names or has_estimators(module)):
        return None
    found = getattr(importlib.import_module(module), name, None)
    if name in names:
        return found
    if not isinstance(found, type):
        return found if name.startswith("__pyx_unpickle_") and "__pyx_unpickle_*" in names else None
    # numpy has other classes too, such as `memmap`, which writes files.
    is_scalar = module == "numpy" and issubclass(found, numpy.generic)
    is_own = found.__module__ == module
    is_estimator = has_estimators(module) and hasattr(found, "get_params")
    return found if is_scalar or (is_own and ("*" in names or is_estimator)) else None


#: Python's implementation, because that in C does not let a subclass see what gets a state.
Unpickler = vars(pickle)["_Unpickler"]


class KnownNames(Unpickler):
    """Reads a pickle that names nothing but what models consist of, and changes only objects that it makes."""

    dispatch: ClassVar[dict[int, Any]] = dict(Unpickler.dispatch)

    def find_class(self, module: str, name: str) -> Any:
        found = permitted(module, name)
        if found is None:
            raise ModelError(
                f"the pickle names {module}.{name}, which models of scikit-learn do not consist of; it was not read. "
                "If the model is yours, store it as ONNX"
            )
        return found

    def load_build(self) -> None:
        """Gives a state to an instance of a class that may be named. Classes and functions are those of all models."""
        kind = type(self.stack[-2])
        if permitted(kind.__module__, kind.__qualname__) is not kind:
            raise ModelError(
                f"the pickle changes a {kind.__module__}.{kind.__qualname__}, which other models may use; "
                "it was not read. If the model is yours, store it as ONNX"
            )
        super().load_build()

    dispatch[pickle.BUILD[0]] = load_build


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
