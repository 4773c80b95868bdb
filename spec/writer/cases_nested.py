"""Good vectors of the nested types."""

from .cases import Case, field, one
from .nodes import As


def nested_cases() -> list[Case]:
    item = field("item", "int32")
    word = field("item", "utf8")
    lists = [[1, None, 3], [], None, [4], [5, 6]]
    sparse = As(nulls="sparse")
    cases = []
    for type_name in ("list", "large_list"):
        fields = [
            field(name, type_name, children=[item]) for name in ("plain", "lengths", "same", "all NULL", "packed child")
        ]
        hows = [As(nulls="bitmap", children=[sparse]), As("lengths", "bitmap", children=[As(nulls="bitmap")])]
        hows += [As(nulls="same", of=1, children=[sparse]), As(nulls="all")]
        hows.append(As("lengths", "same", of=0, inner={"lengths": As("packed")}, children=[As("packed", "sparse")]))
        cases.append(one(f"{type_name}_encodings", fields, [lists, lists, lists, [None] * 5, lists], hows))
    fields = [field("of words", "list", children=[word]), field("of nothing", "list", children=[field("item", "null")])]
    columns = [[["a", None], ["b"], []], [[None, None], [], [None]]]
    hows = [As(children=[As("dictionary", "sparse")]), As("lengths", children=[As(nulls="all")])]
    cases.append(one("list_of", fields, columns, hows))
    pairs = [[1, 2], None, [None, 4]]
    fields = [
        field("dense", "fixed_size_list", size=2, children=[item]),
        field("none", "fixed_size_list", size=0, children=[item]),
    ]
    fields += [field("all NULL", "fixed_size_list", size=3, children=[item])]
    hows = [As(nulls="bitmap", children=[As("packed", "sparse")]), As(nulls="same", of=0), As(nulls="all")]
    cases.append(one("fixed_size_list", fields, [pairs, [[], None, []], [None] * 3], hows))
    person = [field("name", "utf8"), field("age", "int8"), field("name", "bool")]
    people = [["ann", 40, True], None, [None, None, False], ["bob", 7, None]]
    hows = [
        As(nulls="bitmap", children=[As("lengths", "bitmap"), As("packed", "sparse"), As(nulls="bitmap")]),
        As(nulls="all"),
    ]
    fields = [field("people", "struct", children=person), field("all NULL", "struct", children=person)]
    fields.append(field("empty", "struct", children=[]))
    columns = [people, [None] * 4, [[], None, [], []]]
    cases.append(one("struct", fields, columns, [*hows, As(nulls="bitmap")]))
    entries = field("entries", "struct", False, children=[field("key", "utf8", False), field("value", "int64")])
    maps = [[["a", 1], ["b", None]], None, [], [["c", -1]]]
    inner = [As(children=[As("lengths"), As("packed", "sparse")])]
    fields = [field("plain", "map", keys_sorted=True, children=[entries])]
    fields.append(field("lengths", "map", keys_sorted=False, children=[entries]))
    cases.append(
        one("map", fields, [maps, maps], [As(nulls="bitmap", children=inner), As("lengths", "same", children=inner)])
    )
    cases += dictionary_cases()
    cases.append(deep_case())
    return cases


def dictionary_cases() -> list[Case]:
    colours = ["red", None, "green", "red", "blue"]
    names = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    value = [field("", "utf8")]
    fields = [field(n, "dictionary", index=n, ordered=n == "uint8", children=value) for n in names]
    hows = [As(nulls="bitmap", inner={"indices": As("packed")}, children=[As("lengths")])]
    hows += [As(nulls="same", of=0, inner={"indices": As("plain")}, children=[As()])] * (len(names) - 1)
    cases = [one("dictionary_types", fields, [colours] * len(names), hows)]
    structs = field("", "struct", children=[field("a", "int32")])
    fields = [field("of structs", "dictionary", index="int8", ordered=False, children=[structs])]
    fields.append(field("of nothing", "dictionary", index="int8", ordered=False, children=value))
    fields.append(field("all NULL", "dictionary", index="int8", ordered=False, children=value))
    columns = [[[1], [2], [1]], [None] * 3, [None] * 3]
    hows = [As(inner={"indices": As("constant")}), As(nulls="bitmap", under_null=-1), As(nulls="all")]
    hows[0] = As(inner={"indices": As("packed")})
    cases.append(one("dictionary_type_of", fields, columns, hows))
    return cases


def deep_case() -> Case:
    """64 levels: 63 lists around an int8."""
    deep, value, how = field("x", "int8"), 5, As()
    for _ in range(63):
        deep, value, how = field("", "list", children=[deep]), [value], As("lengths", children=[how])
    return one("nesting_64", [deep], [[value]], [how])
