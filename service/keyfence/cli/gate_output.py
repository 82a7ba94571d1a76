"""What `keyfence gate` says: that it is ready, and what it denied."""

import json
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from keyfence_iam.gate.account.session_token import iso_seconds
from keyfence_iam.gate.denials import DeniedCall


class Output(Protocol):
    """Where it listens, then one thing after the other that it refused."""

    def ready(self, url: str, engine_url: str) -> None: ...

    def denied(self, denial: DeniedCall) -> None: ...


def output(*, as_json: bool, data: Path) -> Output:
    command = f"keyfence credentials --tenant acme --data {shlex.quote(str(data))}"
    return Lines(command) if as_json else Sentences(command)


@dataclass(frozen=True, slots=True)
class Lines:
    """For programs: one JSON object per line."""

    credentials: str

    def ready(self, url: str, engine_url: str) -> None:
        self._print({"event": "ready", "endpoint": url, "engine": engine_url, "credentials": self.credentials})

    def denied(self, denial: DeniedCall) -> None:
        self._print(
            {
                "event": "denied",
                "at": iso_seconds(denial.at),
                "session": denial.session_arn,
                "operation": denial.operation,
                "action": denial.action,
                "resource": denial.resource,
                "message": denial.message,
                "reason": denial.reason,
            }
        )

    def _print(self, event: dict[str, str]) -> None:
        print(json.dumps(event), flush=True)


@dataclass(frozen=True, slots=True)
class Sentences:
    """For people."""

    credentials: str

    def ready(self, url: str, engine_url: str) -> None:
        print(
            f"\nThe gate is ready.\n\n"
            f"  Endpoint  {url}\n"
            f"            DynamoDB and STS as IAM lets each session use them, before {engine_url}\n"
            f"  Tenant    {self.credentials}\n"
            f"            prints a session of acme; as credential_process in ~/.aws/config it makes any SDK acme:\n"
            f"            aws dynamodb query --endpoint-url {url} ...\n\n"
            f"Denials are printed below. Ctrl-C ends it.\n",
            flush=True,
        )

    def denied(self, denial: DeniedCall) -> None:
        print(f"{iso_seconds(denial.at)} {denial.operation} denied: {denial.message} [{denial.reason}]", flush=True)
