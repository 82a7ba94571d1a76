"""Paths: the names that lead to a place in a tree, as people send them."""

from collections.abc import Sequence

from keyfence.errors import BadInput
from keyfence.store.escape import escape
from keyfence.validation import checked_line

Path = tuple[str, ...]

NAME_LENGTH = 200
PATH_BYTES = 1_000
"""What a sort key has room for besides the tag before it."""


def checked_path(names: Sequence[str], field: str) -> Path:
    if not names:
        raise BadInput(f"{field} must have at least one name", field=field)
    path = tuple(checked_line(name, field, NAME_LENGTH) for name in names)
    if len("#".join(map(escape, path)).encode()) > PATH_BYTES:
        raise BadInput(f"{field} is too long for a key ({PATH_BYTES} bytes when escaped)", field=field)
    return path


def is_within(path: Path, root: Path) -> bool:
    return path[: len(root)] == root
