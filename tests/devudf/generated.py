"""Bodies of functions that Hypothesis generates: indentation, strings over several lines, ends of lines."""

from __future__ import annotations

from hypothesis import strategies as st

LETTERS = st.sampled_from(["a", " ", "\t", "\n", "    ", "#", "{{", "}}", "\\\\", "é", ":", "    x = 1\n", ")", "\f"])
TEXTS = st.lists(LETTERS, max_size=8).map("".join)


@st.composite
def values(draw: st.DrawFn) -> str:
    """An expression, which may have several lines."""
    kind = draw(st.integers(0, 6))
    text = draw(TEXTS)
    blank = draw(st.sampled_from(["", " ", "\t", "            "]))
    return [
        "i",
        f"'''{text}'''",
        f'f"""{text}{{i}}{text}"""',
        f"(i,\n{blank}j,{blank}# c\n)",
        f"[\n{blank}i\n\n{blank}for i in j]",
        f"i + \\\n{blank}1",
        f'f"""{{\n{blank}i\n}}{text}"""',
    ][kind]


@st.composite
def blocks(draw: st.DrawFn, depth: int = 0, indent: str = "") -> str:
    """The statements of a block, all with this indentation."""
    found = ""
    for _ in range(draw(st.integers(1, 3))):
        if draw(st.booleans()):
            found += draw(st.sampled_from(["\n", "   \n", "\t\n", "# column 0\n", f"{indent}  # more\n"]))
        if depth < 3 and draw(st.booleans()):
            head = draw(st.sampled_from(["if i:", "for k in j:", "def g(a):", "while i:  # c", "with i as k:"]))
            deeper = indent + draw(st.sampled_from([" ", "  ", "    ", "\t"]))
            found += f"{indent}{head}\n{draw(blocks(depth + 1, deeper))}"
        else:
            statement = draw(st.sampled_from(["x = {}", "return {}", "x = {}; y = 2", "{}"]))
            found += indent + statement.format(draw(values())) + "\n"
    return found


@st.composite
def bodies(draw: st.DrawFn) -> str:
    indent = draw(st.sampled_from(["", "", " ", "    ", "\t", "      "]))
    body = draw(blocks(indent=indent))
    before = draw(st.sampled_from(["", "\n", "\n\n", "   \n"]))
    after = draw(st.sampled_from(["", "\n", "  ", "\n    ", "\n\n# last"]))
    end = draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    return (before + body.rstrip("\n") + after).replace("\n", end)
