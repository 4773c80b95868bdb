"""The saved tests of functions as tests of pytest: it collects each `NAME.inputs.arrow` in a folder of functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

#: As in `saved.py`. pytest loads this module in every project, so it imports nothing else of the package before a test.
INPUTS = ".inputs.arrow"


class Difference(Exception):
    """A result that is not the saved one."""


class FunctionItem(pytest.Item):
    """A function with saved inputs."""

    def runtest(self) -> None:
        from .saved import SavedTest

        difference = SavedTest(function_file(self.path)).difference()
        if difference is not None:
            raise Difference(difference)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        if isinstance(excinfo.value, Difference):
            return f"{function_file(self.path)}: {excinfo.value}"
        return super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        return self.path, None, f"function {function_file(self.path).stem}"


class InputsFile(pytest.File):
    """The saved inputs of a function."""

    def collect(self) -> Iterator[FunctionItem]:
        yield FunctionItem.from_parent(self, name=function_file(self.path).stem)


def function_file(inputs: Path) -> Path:
    """The function's file, next to its inputs."""
    return inputs.with_name(inputs.name.removesuffix(INPUTS) + ".py")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> InputsFile | None:
    if file_path.name.endswith(INPUTS) and function_file(file_path).is_file():
        return InputsFile.from_parent(parent, path=file_path)
    return None
