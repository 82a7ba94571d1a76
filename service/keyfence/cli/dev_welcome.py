"""The text that `keyfence dev` prints when the service is ready."""

import json
import shlex
import sys
from dataclasses import dataclass, field
from pathlib import Path

from keyfence.auth.principal import INTROSPECT_SCOPE, Role
from keyfence.local.demo.tenants import TENANTS, DemoTenant
from keyfence.local.development_issuer import DevelopmentIssuer
from keyfence_iam.deployment import LOCAL_REGION

PACKAGE = Path(__file__).resolve().parents[1]
"""The folder of the package `keyfence`, in a checkout or in an environment."""
TOKEN_SECONDS = 7 * 86400
"""The tokens in the text are valid for a week, so that a copied command works for some days."""
QUERY = "{ viewer { role user { name } tenant { id name } } users(first: 3) { edges { node { id name email } } } }"


def keyfence_command(package: Path = PACKAGE) -> str:
    """Returns a shell command that starts this installation of Keyfence from any working directory."""
    checkout = package.parents[1]
    if package.parent.name == "service" and (checkout / "pyproject.toml").is_file():
        return f"uv run --project {shlex.quote(str(checkout))} keyfence"
    program = Path(sys.argv[0]).absolute()
    if program.name == "__main__.py":  # started with `python -m keyfence`: this file is not executable
        return f"{shlex.quote(sys.executable)} -m keyfence"
    return shlex.quote(str(program))


@dataclass(frozen=True, slots=True, kw_only=True)
class WelcomeText:
    """Addresses of the service and the gate, and commands that can be pasted into a shell."""

    server_url: str
    gate_url: str
    engine: str
    """The engine's name, and where its data is."""
    issuer: DevelopmentIssuer
    data: Path
    table: str = "keyfence"
    command: str = field(default_factory=keyfence_command)
    """The shell command that starts Keyfence."""

    def __str__(self) -> str:
        curl_commands = (self._curl(id, tenant) for id, tenant in TENANTS.items())
        return "\n".join((self._addresses(), *curl_commands, "", "Press Ctrl-C to stop."))

    def _addresses(self) -> str:
        id, tenant = next(iter(TENANTS.items()))
        return (
            f"\nKeyfence is ready.\n\n"
            f"  Engine    {self.engine}\n"
            f"  GraphiQL  {self.server_url}/graphql\n"
            f"            Choose a tenant and a user there. For other clients, this prints a token:\n"
            f"            {self._keyfence('token', id)}\n"
            f"  Gate      {self.gate_url}\n"
            f"            DynamoDB, STS and IAM, with the policies of each session. Add to ~/.aws/config:\n\n"
            f"[profile {id}]\n"
            f"region = {LOCAL_REGION}\n"
            f"credential_process = {self._keyfence('credentials', id)}\n\n"
            f"            This reads a user of {id}. With a key of another tenant the call is denied:\n"
            f"            {self._aws(id, tenant)}"
        )

    def _keyfence(self, subcommand: str, tenant: str) -> str:
        """Returns a command with absolute paths, because SDKs run credential_process in any working directory."""
        return f"{self.command} {subcommand} --tenant {tenant} --data {shlex.quote(str(self.data.absolute()))}"

    def _aws(self, id: str, tenant: DemoTenant) -> str:
        """Returns an `aws` command. The endpoint is an option of the command, because `endpoint_url` in a profile needs
        aws CLI 2.13, and Debian 12 has 2.9."""
        key = shlex.quote(json.dumps(owner_key(id, tenant)))
        return (
            f"aws --profile {id} --endpoint-url {self.gate_url} dynamodb get-item --table-name {self.table} --key {key}"
        )

    def _curl(self, id: str, tenant: DemoTenant) -> str:
        token = self.issuer.token(
            tenant=id, user=tenant.owner_id, role=Role.OWNER, ttl=TOKEN_SECONDS, scopes=(INTROSPECT_SCOPE,)
        )
        body = shlex.quote(json.dumps({"query": QUERY}))
        return (
            f"\nAs the owner of {id}:\ncurl -s {self.server_url}/graphql -H 'Authorization: Bearer {token}'"
            f" -H 'Content-Type: application/json' -d {body}"
        )


def owner_key(id: str, tenant: DemoTenant) -> dict[str, dict[str, str]]:
    """Returns the table key of the tenant's owner, in DynamoDB's JSON."""
    return {"PK": {"S": f"TENANT#{id}#USER#{tenant.owner_id}"}, "SK": {"S": "PROFILE"}}
