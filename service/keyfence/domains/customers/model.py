"""`Customer`, and checks of its fields that need no read of the table."""

from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from keyfence.validation import checked_email as checked_email_address
from keyfence.validation import checked_line

CustomerId = NewType("CustomerId", str)

NAME_LENGTH = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer:
    """A person or a company that places orders. Two customers may have the same email."""

    id: CustomerId
    name: str
    created_at: datetime
    updated_at: datetime
    email: str | None = None
    version: int = 1


def checked_name(name: str) -> str:
    return checked_line(name, "name", NAME_LENGTH)


def checked_email(email: str | None) -> str | None:
    return None if email is None else checked_email_address(email)
