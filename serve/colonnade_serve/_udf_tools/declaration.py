"""The declaration of a function: the text of CREATE FUNCTION up to its body."""

from __future__ import annotations

import re
from dataclasses import dataclass

#: A text or a name in quotes, a bracket, or anything else that these do not begin.
TOKEN = re.compile(r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|\s+|[\[(]|[\])]|,|[\w$]+|.", re.DOTALL)
BLANK = re.compile(r"('(?:[^']|'')*'|\"(?:[^\"]|\"\")*\")|\s+")
HEAD = re.compile(r"CREATE\s+(?:OR\s+REPLACE\s+)?(FUNCTION|AGGREGATE)\s+", re.IGNORECASE)
NAME = re.compile(r"\"(?:[^\"]|\"\")*\"|[^\W\d][\w$]*")
#: Types of several words, which are no name and type.
TYPE_OF_WORDS = re.compile(
    r"(double precision|character varying|bit varying|(timestamp|time)( \( \d+ \))? with(out)? time zone)\b",
    re.IGNORECASE,
)
#: PostgreSQL's modes of parameters, which precede a name.
MODES = {"in", "out", "inout", "variadic"}


@dataclass(frozen=True)
class Declaration:
    """What a declaration says of a function's name."""

    #: FUNCTION or AGGREGATE.
    kind: str
    #: None if none is written.
    schema: str | None
    name: str
    #: The names of the parameters.
    names: tuple[str, ...]
    #: The texts of their types.
    types: tuple[str, ...]
    #: What follows CREATE.
    rest: str

    @property
    def signature(self) -> str:
        """The name and the types, for people and to compare."""
        schema = "" if self.schema is None else f"{self.schema}."
        return f"{schema}{self.name}({', '.join(self.types)})"

    @property
    def is_variadic(self) -> bool:
        """Whether the function takes any arguments."""
        return "*" in self.types

    @classmethod
    def read(cls, head: str) -> Declaration:
        """Read a declaration. Raises `ValueError` if it is none."""
        begin = HEAD.match(head)
        if begin is None:
            raise ValueError("a declaration begins with CREATE FUNCTION or CREATE AGGREGATE")
        place = begin.end()
        path = []
        while True:
            name = NAME.match(head, place)
            if name is None:
                raise ValueError("the declaration has no name")
            path.append(folded(name[0]))
            place = name.end()
            if head[place : place + 1] != ".":
                break
            place += 1
        opening = re.compile(r"\s*\(").match(head, place)
        if opening is None or len(path) > 2:
            raise ValueError("the declaration has no parameters in parentheses")
        parameters = [read_parameter(part) for part in parts(head, opening.end())]
        schema = path[0] if len(path) == 2 else None
        # A star stands for any arguments, which the body has by no names of its own.
        names = tuple(name for name, type_ in parameters if type_ != "*")
        types = tuple(type_ for _, type_ in parameters)
        return cls(begin[1].upper(), schema, path[-1], names, types, head[begin.start(1) :])


def folded(name: str) -> str:
    """A name without its quotes, or in lower case."""
    return name[1:-1].replace('""', '"') if name.startswith('"') else name.lower()


def parts(text: str, start: int) -> list[list[str]]:
    """The tokens of each parameter, up to the parenthesis that closes the list."""
    found: list[list[str]] = [[]]
    depth = 1
    for match in TOKEN.finditer(text, start):
        token = match[0]
        depth += (token in "([") - (token in ")]")
        if depth == 0:
            return [part for part in found if "".join(part).strip()]
        if token == "," and depth == 1:
            found.append([])
        else:
            found[-1].append(token)
    raise ValueError("the parameters have no closing parenthesis")


def read_parameter(tokens: list[str]) -> tuple[str, str]:
    """The name and the type of a parameter, without its mode and its default."""
    words = [token for token in tokens if not token.isspace()]
    if words == ["*"]:
        # Any arguments.
        return "*", "*"
    while words and words[0].lower() in MODES and len(words) > 2:
        words.pop(0)
    if words == ["*"]:
        return "", "*"
    if not words or NAME.fullmatch(words[0]) is None:
        raise ValueError("a parameter has no name")
    if len(words) == 1 or TYPE_OF_WORDS.match(" ".join(words)):
        # PostgreSQL allows parameters without names.
        return "", on_one_line("".join(tokens))
    start = next(at for at, token in enumerate(tokens) if token == words[0])
    rest = tokens[start + 1 :]
    end = next((at for at, token in enumerate(rest) if token == "=" or token.lower() == "default"), len(rest))
    return folded(words[0]), " ".join("".join(rest[:end]).split())


def on_one_line(head: str) -> str:
    """The text with single blanks, except within quotes."""
    return BLANK.sub(lambda match: match[1] or " ", head).strip()


def from_definition(definition: str, body: str) -> str:
    """The declaration of what `pg_get_functiondef` gives. Raises `ValueError` if it does not end with the body."""
    text = definition.rstrip()
    quotes = re.search(r"\$[^$]*\$\Z", text)
    if quotes is not None:
        end = f"AS {quotes[0]}{body}{quotes[0]}"
        if text.endswith(end):
            head = on_one_line(text[: -len(end)])
            return re.sub(r"\ACREATE OR REPLACE ", "CREATE ", head)
    raise ValueError("the definition does not end with the body")
