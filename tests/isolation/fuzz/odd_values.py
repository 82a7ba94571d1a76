"""Values that a caller can send and that a service must expect: odd texts, numbers, decimals, dates and times."""

import json
from typing import Any


class EnumName(str):
    """A value that is written in a document without quotes."""

    __slots__ = ()


class NumberText(str):
    """A number that Python would not write in this form."""

    __slots__ = ()


ODD_TEXTS = (
    "", " ", "\x00", "a\x00b", "\n", "\x1b[31m", "\u200b", "\u202e", "\ufeff", "é", "e\u0301", "İ", "ß", "😀", "\ud800",
    "\udfff\ud800", "\u2028", "#", "##", "%23", "%", "a#b", "TENANT#", "CONTROL#", "TENANT##", "*",
    "${aws:userid}", "../..",
    "'; --", '"', "\\", "{}", "null", "true", "0", "-1", "2026-13", "0000-00", "9999-99", "2026-11",
    "\u0662\u0660\u0662\u0666-\u0661\u0661", "x" * 257, "x" * 2_049, "#" * 1_000, "😀" * 600, "a@b", "a@b.example",
    "A@B.EXAMPLE", "@", "a@b@c", "x@" + "d" * 300,
)  # fmt: skip
ODD_INTEGERS = (-1, 0, 51, 101, 1_001, 2**31 - 1, 2**31, -(2**31), -(2**31) - 1, 2**53, 2**63, 2**64, 10**40)
ODD_NUMBERS = tuple(
    NumberText(text) for text in ("1e308", "1e400", "-1e400", "1e-400", "-0.0", "1.0", "1E2", "0.1e1", "9" * 400)
)
ODD_DECIMALS = ("-1", "0", "1e5", "NaN", "Infinity", "0.001", "9" * 20, "9" * 39, "-0.00", "+1", "\uff11", "1_0")
DATES = (
    "2026-11-16", "2026-11-17", "0001-01-01", "9999-12-31", "2026-02-30", "2026-11-16T00:00:00Z", "20261116",
    "2026-W47-1",
)  # fmt: skip
TIMES = (
    "2026-11-16T08:30:00Z", "2026-11-17T00:00:00+01:00", "0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59",
    "2026-11-16", "2026-11-16T08:30", "1969-12-31T23:59:59.999999Z", "2026-11-16T24:00:00Z",
    "2026-11-16T08:30:00.123456789Z", "-0001-01-01T00:00:00Z",
)  # fmt: skip
"""The first two dates and the first two times are usual ones."""


def as_literal(value: Any) -> str:
    """Returns the value as it is written in a GraphQL document."""
    if isinstance(value, EnumName | NumberText):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(as_literal, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name}: {as_literal(part)}' for name, part in value.items())}}}"
    return json.dumps(value)


def as_json(value: Any) -> str:
    """Returns the value as it is written in the JSON of variables."""
    if isinstance(value, NumberText):
        return str(value)
    if isinstance(value, list):
        return f"[{','.join(map(as_json, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{json.dumps(name)}:{as_json(part)}' for name, part in value.items())}}}"
    return json.dumps(value)
