"""A function's body as a function of Python."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Iterator
from types import CodeType
from typing import Any

import numpy

from .failures import BODY_NAME, SourceError

#: Names that the body may use in addition to its parameters.
AGGREGATE_GROUP = "aggr_group"


def compile_body(text: str, file_name: str, parameters: list[str]) -> Callable[..., Any]:
    """The function whose body is `text`. The lines of its code are those of the body."""
    statements = parse(text)
    names = [name if is_identifier(name) else f"_arg{at}" for at, name in enumerate(parameters, 1)]
    tree = ast.parse(f"def f({', '.join(names)}): pass")
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    definition.body = statements
    definition.name = BODY_NAME
    try:
        code = compile(tree, file_name, "exec", dont_inherit=True)
    except SyntaxError as error:
        raise SourceError(error.msg, error.lineno or 1, error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise SourceError(f"Python cannot compile the body: {error}", 1, 1) from None
    namespace: dict[str, Any] = {"numpy": numpy, "__name__": "__main__", "__builtins__": __builtins__}
    exec(code, namespace)
    return namespace.pop(BODY_NAME)


def is_identifier(name: str) -> bool:
    """Whether Python's code can use this name."""
    return name.isidentifier() and not keyword.iskeyword(name)


def parse(text: str) -> list[ast.stmt]:
    """The statements of a body. A body may be indented as a whole."""
    # An indented body is the block of an `if` that stands in a line before it, so that no text inside strings changes.
    shift = 1 if is_indented(text) else 0
    try:
        statements = ast.parse("if 1:\n" * shift + text).body
    except SyntaxError as error:
        line = min(max((error.lineno or 1) - shift, 1), text.count("\n") + 1)
        raise SourceError(error.msg, line, error.offset or 1) from None
    except (ValueError, RecursionError, MemoryError) as error:
        reason = str(error) or "it is nested too deeply"
        raise SourceError(f"Python cannot read the body: {reason}", 1, 1) from None
    if shift:
        block, *after = statements
        if after or not isinstance(block, ast.If) or block.orelse:
            line = after[0].lineno - shift if after else 1
            raise SourceError("unindent does not match any outer indentation level", line, 1)
        statements = block.body
    if not statements:
        raise SourceError("the body is empty: it must return a result", 1, 1)
    for statement in statements:
        for node in ast.walk(statement):
            if shift and hasattr(node, "lineno"):
                node.lineno -= shift  # type: ignore[attr-defined]
                if getattr(node, "end_lineno", None) is not None:
                    node.end_lineno -= shift  # type: ignore[attr-defined]
    return statements


def is_indented(text: str) -> bool:
    """Whether the first line with code begins with a blank."""
    for line in text.splitlines():
        code = line.strip()
        if code and not code.startswith("#"):
            return line[0] in " \t\f"
    return False


def used_names(function: Callable[..., Any]) -> set[str]:
    """The global names that the function's code mentions, in nested functions too."""

    def codes(code: CodeType) -> Iterator[CodeType]:
        yield code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                yield from codes(constant)

    return {name for code in codes(function.__code__) for name in code.co_names}
