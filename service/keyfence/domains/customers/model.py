"""Customers, and the rules that hold without looking anything up."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import NewType

from keyfence.errors import BadInput
from keyfence.validation import checked_line

CustomerId = NewType("CustomerId", str)

NAME_LENGTH = 200
EMAIL_LENGTH = 254

_EMAIL = re.compile(r"[^@\s\x00-\x1f\x7f\ud800-\udfff]+@[^@\s\x00-\x1f\x7f\ud800-\udfff]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Customer:
    """Somebody who orders; two of them may share an email."""

    id: CustomerId
    name: str
    created_at: datetime
    updated_at: datetime
    email: str | None = None
    version: int = 1


def checked_name(name: str) -> str:
    return checked_line(name, "name", NAME_LENGTH)


def checked_email(email: str | None) -> str | None:
    if email is not None and (len(email) > EMAIL_LENGTH or not _EMAIL.fullmatch(email)):
        raise BadInput(f"email must be an address like name@host, of at most {EMAIL_LENGTH} characters", field="email")
    return email
