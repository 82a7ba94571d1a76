"""Credentials as a compute service hands them to the process that it runs as a role: always good ones."""

from typing import Any

import boto3
from botocore.credentials import CredentialProvider, RefreshableCredentials

from keyfence_iam.boto_session import boto_session_from
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.account.session_token import iso_seconds


class RoleCredentialProvider(CredentialProvider):
    """Sessions of one role, each followed by the next before it ends."""

    METHOD = "keyfence"
    CANONICAL_NAME = "Keyfence"

    def __init__(self, sessions: SessionIssuer, role: str) -> None:
        super().__init__()
        self._sessions = sessions
        self._role = role

    def load(self) -> RefreshableCredentials:
        return RefreshableCredentials.create_from_metadata(
            metadata=self._next(), refresh_using=self._next, method=self.METHOD
        )

    def _next(self) -> dict[str, Any]:
        issued = self._sessions.issue_service_session(self._role)
        return {
            "access_key": issued.credentials.access_key,
            "secret_key": issued.credentials.secret_key,
            "token": issued.credentials.token,
            "expiry_time": iso_seconds(issued.session.expires_at),
        }


def boto_session_for(role: str, sessions: SessionIssuer) -> boto3.Session:
    """Returns a session of this role. It reads neither credentials nor a profile from the environment."""
    return boto_session_from(RoleCredentialProvider(sessions, role))
