"""How a policy names a caller, which decides what else must allow the call."""

from collections.abc import Mapping
from enum import IntEnum

from keyfence_iam.document.principals import EVERYBODY
from keyfence_iam.evaluator.assumptions import EVERYBODY_IS_NAMED_DIRECTLY
from keyfence_iam.evaluator.principal import Principal


class Naming(IntEnum):
    """From the least to the most direct."""

    ACCOUNT = 1
    ROLE = 2
    DIRECT = 3


def naming(names: Mapping[str, tuple[str, ...]], principal: Principal) -> Naming | None:
    """The most direct way in which the names hold for the caller, or None if it is not among them."""
    found = [_aws(name, principal) for name in names.get("AWS", ())]
    found += [Naming.DIRECT for name in names.get("Service", ()) if principal.service and name == principal.service]
    return max((one for one in found if one is not None), default=None)


def _aws(name: str, principal: Principal) -> Naming | None:
    if name == EVERYBODY:
        return Naming.DIRECT if EVERYBODY_IS_NAMED_DIRECTLY else Naming.ROLE
    if not principal.account:
        return None
    if name == principal.session_arn:
        return Naming.DIRECT
    if name == principal.role_arn:
        return Naming.ROLE
    return Naming.ACCOUNT if _account(name) == principal.account else None


def _account(name: str) -> str:
    """The account that is named as a whole: by its number, or by its root."""
    segments = name.split(":", 5)
    if len(segments) < 6:
        return name
    return segments[4] if segments[5] == "root" else ""
