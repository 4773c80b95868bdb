"""The modules that the documentation names for `--udf-preload`: no training imports another one of their libraries."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("sklearn", reason="scikit-learn is not here; make test-ml runs this")
pytest.importorskip("onnxruntime", reason="onnxruntime is not here; make test-ml runs this")

from colonnade_serve.ml._functions import TRAINERS

from tests.ml.trainers import SHORT, is_regression

ROOT = Path(__file__).parents[2]
DOCUMENTS = ["docs/reference/ml.md", "docs/tutorial/machine-learning.md"]
PROGRAM = """
import importlib, json, sys, warnings
for name in json.loads(sys.argv[1]):
    importlib.import_module(name)
import numpy as np
from tests.ml.local import Local
warnings.simplefilter("ignore")
before, local = set(sys.modules), Local()
x = np.arange(60.0)
given = {"x": x, "t": np.where(x % 2, "a", "b").astype(object), "y": x}
for name, parameters, is_regression in json.loads(sys.argv[2]):
    columns = {**given, "y": x if is_regression else np.where(x % 7 > 3, "c", "d").astype(object)}
    for form in ("pickle", "auto"):
        local.train(f"train_{name}", columns, json.dumps(parameters), name, form)
        local.call("predict", columns, name)
print(json.dumps(sorted(set(sys.modules) - before)))
"""


@pytest.mark.parametrize("document", DOCUMENTS)
def test_nothing_else_is_imported(document: str) -> None:
    found = re.search(r"--udf-preload (\S+)", (ROOT / document).read_text(encoding="utf-8"))
    assert found is not None
    trainers = [(name, SHORT.get(name, {}), is_regression(name)) for name in TRAINERS]
    command = [sys.executable, "-c", PROGRAM, json.dumps(found[1].split(",")), json.dumps(trainers)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=True)
    imported = json.loads(done.stdout.splitlines()[-1])
    libraries = ("sklearn", "scipy", "joblib", "onnx", "onnxruntime", "skl2onnx", "pandas", "numpy")
    assert [name for name in imported if name.partition(".")[0] in libraries] == []
