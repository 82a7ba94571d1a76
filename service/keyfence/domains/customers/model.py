"""`Customer`, and checks of its fields that need no read of the table."""

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import NewType

from keyfence.validation import checked_line

CustomerId = NewType("CustomerId", str)

MAX_NAME_LENGTH = 200

checked_name = partial(checked_line, field="name", max_length=MAX_NAME_LENGTH)


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer:
    """A person or a company that places orders. Two customers may have the same email."""

    id: CustomerId
    name: str
    created_at: datetime
    updated_at: datetime
    email: str | None = None
    version: int = 1
