"""Signed requests to a running gate: is it the gate of this data directory, and what traffic does it see?"""

from dataclasses import dataclass, field
from typing import Any

import orjson
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest, AWSResponse
from botocore.credentials import ReadOnlyCredentials
from botocore.exceptions import BotoCoreError
from botocore.httpsession import URLLib3Session

from keyfence.errors import BadInput
from keyfence.local.gate_access import role_session
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles.names import PROVISIONER

TIMEOUT_SECONDS = 5
WHO_AM_I = "Action=GetCallerIdentity&Version=2011-06-15"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateClient:
    """A client of the gate at `url`. It signs as the provisioner, with a new session for each request."""

    url: str
    region: str
    issuer: SessionIssuer
    http: URLLib3Session = field(default_factory=lambda: URLLib3Session(proxies={}, timeout=TIMEOUT_SECONDS))

    def check_identity(self) -> None:
        """Raises BadInput unless a gate answers that accepts the sessions of this data directory."""
        request = AWSRequest("POST", f"{self.url.rstrip('/')}/", data=WHO_AM_I)
        request.headers["Content-Type"] = "application/x-www-form-urlencoded"
        response = self._send(request, "sts")
        if response.status_code == 200 and b"GetCallerIdentityResult" in response.content:
            return
        if b"<ErrorResponse" in response.content:
            raise BadInput(
                f"The gate at {self.url} belongs to another data directory. Start `keyfence dev` on yours, or name"
                " the address of its gate with --endpoint-url."
            )
        raise BadInput(f"What answers at {self.url} is not a gate. Name the address of the gate with --endpoint-url.")

    def traffic(self) -> dict[str, Any]:
        """Returns the gate's traffic report. Raises BadInput if it has none or does not show it."""
        response = self._send(AWSRequest("GET", f"{self.url.rstrip('/')}/traffic"), "dynamodb")
        try:
            report: dict[str, Any] = orjson.loads(response.content)
        except orjson.JSONDecodeError as error:
            raise BadInput(f"What answers at {self.url} is not a gate.") from error
        if response.status_code != 200:
            raise BadInput(self._reason(response, report))
        return report

    def _send(self, request: AWSRequest, service: str) -> AWSResponse:
        credentials = role_session(self.issuer, PROVISIONER).credentials
        signer = ReadOnlyCredentials(credentials.access_key, credentials.secret_key, credentials.token)
        SigV4Auth(signer, service, self.region).add_auth(request)
        try:
            return self.http.send(request.prepare())
        except BotoCoreError as error:
            raise BadInput(
                f"No gate answers at {self.url}. Start `keyfence dev` or `keyfence gate` on this data directory."
            ) from error

    def _reason(self, response: AWSResponse, report: dict[str, Any]) -> str:
        if response.status_code == 404:
            return f"The gate at {self.url} does not count traffic: start it with --partition-limits."
        message = report.get("message") or report.get("Message") or f"HTTP {response.status_code}"
        return f"The gate at {self.url} does not show its traffic: {message} Is it the gate of that data directory?"
