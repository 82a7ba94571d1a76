"""What one call asks of IAM: an action on a resource, and what is known about the request."""

from collections.abc import Mapping
from dataclasses import dataclass, field

Value = str | tuple[str, ...]
"""A tuple is the value of a key of ArrayOf type, also when it holds one text or none."""


@dataclass(frozen=True, slots=True)
class Authorisation:
    """One question to IAM; a call may ask several, all of which must be allowed."""

    action: str
    resource: str
    context: Mapping[str, Value] = field(default_factory=dict)
