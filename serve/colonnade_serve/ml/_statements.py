"""The statements of an installation. A body is the text of the parts that it needs, in their order, and a last line."""

from __future__ import annotations

import ast
import builtins
import textwrap
from collections.abc import Iterator, Sequence
from importlib import resources

from ._functions import ALLOWED, COLUMNS, Function, functions

PARTS = f"{__package__}._bodies"


def part_text(name: str) -> str:
    return resources.files(PARTS).joinpath(f"{name}.py").read_text(encoding="utf-8")


def needed(name: str, found: dict[str, ast.Module] | None = None) -> dict[str, ast.Module]:
    """A part and those that it imports, each after the ones that it needs."""
    found = {} if found is None else found
    if name not in found:
        tree = ast.parse(part_text(name))
        for node in tree.body:
            if isinstance(node, ast.ImportFrom) and node.level:
                assert node.module is not None, "a part imports names of other parts, and not the parts"
                needed(node.module, found)
        found[name] = tree
    return found


def body(part: str, last: str, table: str, allowed: Sequence[str]) -> str:
    """The body of a function. Imports of other parts are left out, because their text stands in front. All names are
    global ones of the function: the first call of a process defines them, and later ones find them.

    The columns of a query are local variables of the body, whatever their names are. So everything is in a function
    inside it, which declares each name that the text uses as a global one: a column `len` or `matrix` hides none."""
    found = needed(part)
    definitions = [f"TABLE = {table!r}", f"ALLOWED = {list(allowed)!r}"]
    for name, tree in found.items():
        # The type checker's settings stand in front of the docstring.
        lines = part_text(name).splitlines()
        dropped = [
            node
            for at, node in enumerate(tree.body)
            if (isinstance(node, ast.ImportFrom) and (node.level or node.module == "__future__"))
            or (at == 0 and isinstance(node, ast.Expr))
        ]
        for node in reversed(dropped):
            del lines[node.lineno - 1 : node.end_lineno]
        lines = [line for line in lines if not line.startswith("# pyright:")]
        definitions.append("\n".join(lines).strip("\n"))
    used = {node.id for tree in found.values() for node in ast.walk(tree) if isinstance(node, ast.Name)}
    own = {"TABLE", "ALLOWED", "READY", "_columns", "_conn", "globals"}
    names = sorted(own | (used & set(dir(builtins))) | {name for tree in found.values() for name in defined(tree)})
    declared = "\n".join(f"global {line.rstrip(',')}" for line in textwrap.wrap(", ".join(names), 100))
    again = f'if "READY" in globals():\n    {last}'
    whole = "\n\n\n".join([declared, again, *definitions, "READY = True", last])
    return f"def answer():\n{textwrap.indent(whole, '    ')}\n\n\nreturn answer()"


def defined(tree: ast.Module) -> Iterator[str]:
    """The names that a part defines."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        elif isinstance(node, ast.Assign):
            yield from (target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id
        elif isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module != "__future__":
            yield from (alias.asname or alias.name for alias in node.names)


def quoted(name: str) -> str:
    """A name as an identifier of SQL."""
    return '"' + name.replace('"', '""') + '"'


def create(function: Function, schema: str, allowed: Sequence[str]) -> str:
    """The statement that creates a function."""
    table = f"{quoted(schema)}.{quoted('models')}"
    text = body(function.part, function.last, table, allowed)
    if "$colonnade$" in text:
        raise ValueError(f"the schema {schema!r} cannot have models: its name contains $colonnade$")
    return (
        f"CREATE OR REPLACE FUNCTION {quoted(schema)}.{function.name}({function.parameters}) RETURNS {function.result} "
        f"LANGUAGE {function.language} {function.clauses} AS $colonnade$\n{text}\n$colonnade$"
    )


def statements(schema: str = "main", allow: Sequence[str] = ()) -> list[str]:
    """All statements of an installation: the table, if it is missing, and the functions.

    Args:
        schema: The schema of both.
        allow: Estimators that the functions may use in addition to those of `ALLOWED`.
    """
    for path in allow:
        if not all(part.isidentifier() for part in path.split(".")) or "." not in path:
            raise ValueError(f"{path!r} is no estimator: write package.module.Class")
    columns = ", ".join(f"{quoted(name)} {kind}" for name, kind in COLUMNS.items())
    table = f"{quoted(schema)}.{quoted('models')}"
    allowed = sorted({*ALLOWED, *allow})
    created = f'CREATE TABLE IF NOT EXISTS {table} ({columns}, PRIMARY KEY ("name", "version"))'
    return [created, *(create(function, schema, allowed) for function in functions())]
