"""boto3 sessions for the roles of a local gate. Their credentials are renewed before they expire."""

from typing import Any

import boto3
from botocore.credentials import CredentialProvider, RefreshableCredentials

from keyfence_iam.boto_session import boto_session_from
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.gate.account.session_token import iso_seconds


class RoleCredentialProvider(CredentialProvider):
    """Provides the credentials of one role to boto3, as Amazon ECS provides the credentials of a task role."""

    METHOD = "keyfence"
    CANONICAL_NAME = "Keyfence"

    def __init__(self, issuer: SessionIssuer, role: str) -> None:
        super().__init__()
        self._issuer = issuer
        self._role = role

    def load(self) -> RefreshableCredentials:
        return RefreshableCredentials.create_from_metadata(
            metadata=self._issue_metadata(), refresh_using=self._issue_metadata, method=self.METHOD
        )

    def _issue_metadata(self) -> dict[str, Any]:
        issued = self._issuer.issue_service_session(self._role)
        return {
            "access_key": issued.credentials.access_key,
            "secret_key": issued.credentials.secret_key,
            "token": issued.credentials.token,
            "expiry_time": iso_seconds(issued.session.expires_at),
        }


def boto_session_for(role: str, issuer: SessionIssuer) -> boto3.Session:
    """Returns a boto3 session with credentials of the role. It ignores credentials and profiles of the environment."""
    return boto_session_from(RoleCredentialProvider(issuer, role))
