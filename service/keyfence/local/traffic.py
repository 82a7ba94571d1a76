"""What a running gate shows of the partitions behind it."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GateTraffic:
    """Asked for by the role that makes tables, on a session of its own for every look."""

    url: str
    region: str
    sessions: SessionIssuer
    http: URLLib3Session = field(default_factory=lambda: URLLib3Session(proxies={}, timeout=5))

    def look(self) -> dict[str, Any]:
        try:
            response = self.http.send(self._request().prepare())
            content = orjson.loads(response.content)
        except (BotoCoreError, orjson.JSONDecodeError) as error:
            raise BadInput(f"No gate answers at {self.url}: is `keyfence dev` or `keyfence gate` running?") from error
        if response.status_code != 200:
            raise BadInput(self._reason(response, content))
        found: dict[str, Any] = content
        return found

    def _request(self) -> AWSRequest:
        request = AWSRequest("GET", f"{self.url.rstrip('/')}/traffic")
        given = role_session(self.sessions, PROVISIONER).credentials
        signer = ReadOnlyCredentials(given.access_key, given.secret_key, given.token)
        SigV4Auth(signer, "dynamodb", self.region).add_auth(request)
        return request

    def _reason(self, response: AWSResponse, content: dict[str, Any]) -> str:
        if response.status_code == 404:
            return f"The gate at {self.url} has no limits for partitions: start it with --partition-limits."
        said = content.get("message") or content.get("Message") or f"HTTP {response.status_code}"
        return f"The gate at {self.url} does not show its traffic: {said} Is it the gate of that data directory?"
