"""What `keyfence dev` says when it is ready."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path

from keyfence.auth.role import Role
from keyfence.auth.scopes import INTROSPECT
from keyfence.local.issuer import LocalIssuer
from keyfence.local.people import TENANTS, DemoTenant

PROJECT = Path(__file__).resolve().parents[3]
TOKEN_SECONDS = 7 * 86400
QUERY = "{ viewer { role user { name } tenant { id name } } users(first: 3) { edges { node { id name email } } } }"


@dataclass(frozen=True, slots=True, kw_only=True)
class Welcome:
    """Where things are, and a request of each demo tenant that works when pasted."""

    url: str
    gate: str
    remark: str
    issuer: LocalIssuer
    data: Path
    project: Path = PROJECT

    def __str__(self) -> str:
        return "\n".join(
            (self._places(), *(self._request(name, tenant) for name, tenant in TENANTS.items()), "", "Ctrl-C ends it.")
        )

    def _places(self) -> str:
        return (
            f"\nKeyfence is ready.\n\n"
            f"  Engine    {self.remark}\n"
            f"  Gate      {self.gate}\n"
            f"            DynamoDB and STS as IAM lets each session use them. To be a tenant there, in ~/.aws/config:\n"
            f"            credential_process = {self._command('credentials')}\n"
            f"  GraphiQL  {self.url}/graphql\n"
            f'            Headers: {{"Authorization": "Bearer TOKEN"}}, where TOKEN comes from\n'
            f"            {self._command('token')}"
        )

    def _command(self, name: str) -> str:
        """Good in any working directory: SDKs run what credential_process says from wherever they are."""
        project, data = (shlex.quote(str(path.absolute())) for path in (self.project, self.data))
        return f"uv run --project {project} keyfence {name} --tenant {next(iter(TENANTS))} --data {data}"

    def _request(self, name: str, tenant: DemoTenant) -> str:
        token = self.issuer.token(
            tenant=name, user=tenant.owner, role=Role.OWNER, ttl=TOKEN_SECONDS, scopes=(INTROSPECT,)
        )
        body = shlex.quote(json.dumps({"query": QUERY}))
        return (
            f"\nAs the owner of {name}:\ncurl -s {self.url}/graphql -H 'Authorization: Bearer {token}'"
            f" -H 'Content-Type: application/json' -d {body}"
        )
