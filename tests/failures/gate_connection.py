"""Connects a process of a test to the gate of the test that started it."""

from typing import Any

from keyfence.app.aws_connections import AwsAccess
from keyfence.app.local_development import aws_access
from keyfence.settings import Settings
from keyfence_iam.deployment import Deployment
from keyfence_iam.gate.account.account import Account
from keyfence_iam.gate.account.session import SessionIssuer
from keyfence_iam.roles import ROLES
from tests.fakes.fences import INDEX_KEY


def gate_access(arguments: dict[str, Any]) -> AwsAccess:
    """`arguments` has the name of the `table`, the URL of the `gate`, and the `key` of the gate in hexadecimal."""
    settings = Settings(
        table=arguments["table"],
        region=Deployment().region,
        endpoint_url=arguments["gate"],
        sts_endpoint_url=arguments["gate"],
        cursor_keys=("dev-" + "A" * 43,),
        index_key=INDEX_KEY,
    )
    account = Account.from_definitions(ROLES, Deployment(table=arguments["table"]))
    return aws_access(settings, SessionIssuer(account, bytes.fromhex(arguments["key"])))
