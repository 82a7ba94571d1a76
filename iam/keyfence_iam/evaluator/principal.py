"""Who asks: the session behind a set of credentials, as policies see it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A role's session. AWS services that assume a role have only `service`."""

    account: str = ""
    role_arn: str = ""
    session_arn: str = ""
    service: str = ""
