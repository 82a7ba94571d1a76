"""A client of a running gate: it checks the gate's identity, and reads the gate's traffic report."""

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
GET_CALLER_IDENTITY = "Action=GetCallerIdentity&Version=2011-06-15"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateClient:
    """Sends requests to the gate at `url`, each signed with a new session of the role `provisioner`."""

    url: str
    region: str
    issuer: SessionIssuer
    http: URLLib3Session = field(default_factory=lambda: URLLib3Session(proxies={}, timeout=TIMEOUT_SECONDS))

    def check_identity(self) -> None:
        """Raises BadInput unless a gate answers at `url` and accepts sessions of this data directory."""
        request = AWSRequest("POST", f"{self.url.rstrip('/')}/", data=GET_CALLER_IDENTITY)
        request.headers["Content-Type"] = "application/x-www-form-urlencoded"
        response = self._send(request, "sts")
        if response.status_code == 200 and b"GetCallerIdentityResult" in response.content:
            return
        if b"<ErrorResponse" in response.content:
            raise BadInput(
                f"The gate at {self.url} belongs to another data directory. Name that directory with --data, or"
                " start `keyfence dev` on yours."
            )
        raise BadInput(f"The server at {self.url} is not a gate. Give the address of the gate with --endpoint-url.")

    def traffic_report(self) -> dict[str, Any]:
        """Returns the gate's traffic report. Raises BadInput if the gate counts no traffic or denies the request."""
        response = self._send(AWSRequest("GET", f"{self.url.rstrip('/')}/traffic"), "dynamodb")
        try:
            body: dict[str, Any] = orjson.loads(response.content)
        except orjson.JSONDecodeError as error:
            raise BadInput(f"The server at {self.url} is not a gate.") from error
        if response.status_code != 200:
            raise BadInput(self._denial_message(response.status_code, body))
        return body

    def _send(self, request: AWSRequest, service: str) -> AWSResponse:
        credentials = role_session(self.issuer, PROVISIONER).credentials
        signing_credentials = ReadOnlyCredentials(credentials.access_key, credentials.secret_key, credentials.token)
        SigV4Auth(signing_credentials, service, self.region).add_auth(request)
        try:
            return self.http.send(request.prepare())
        except BotoCoreError as error:
            raise BadInput(
                f"No gate answers at {self.url}. Start `keyfence dev` or `keyfence gate` on this data directory."
            ) from error

    def _denial_message(self, status_code: int, body: dict[str, Any]) -> str:
        if status_code == 404:
            return f"The gate at {self.url} does not count traffic: start it with --partition-limits."
        message = body.get("message") or body.get("Message") or f"HTTP {status_code}"
        advice = "Check that --data names the data directory of this gate."
        return f"The gate at {self.url} does not show its traffic: {message} {advice}"
