"""Starts the template: `PYTHON -I -B …/colonnade_serve/_udf/__main__.py [MODULE…]`, with a socket as its standard
input. The modules are imported before the first function process is forked."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

#: What these modules are called in the template, where there may be no package `colonnade`.
NAME = "colonnade_udf"


def template() -> ModuleType:
    """The module of the template."""
    folder = Path(__file__).parent
    spec = importlib.util.spec_from_file_location(
        NAME, folder / "__init__.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None
    package = importlib.util.module_from_spec(spec)
    sys.modules[NAME] = package
    spec.loader.exec_module(package)
    return importlib.import_module(f"{NAME}.template")


if __name__ == "__main__":
    template().main(sys.argv[1:])
