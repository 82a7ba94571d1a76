"""The evaluator's cases: a sentence each, with policies, a request and the decision that AWS's documents ask for."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "cases" / "iam"
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
TABLE = "arn:aws:dynamodb:us-east-1:000000000000:table/app"


@dataclass(frozen=True, slots=True)
class Case:
    """One case, and the file that it stands in."""

    theme: str
    said: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.theme}: {self.said['case']}"

    @property
    def line(self) -> dict[str, Any]:
        """The question as `keyfence policy evaluate` reads it."""
        asked = {
            "identity": self._identity(),
            "action": self.said.get("action", "dynamodb:GetItem"),
            "resource": self.said.get("resource", TABLE),
            "context": self.said.get("context", {}),
        }
        return asked | {kind: self.said[kind] for kind in ("session", "boundary") if kind in self.said}

    @property
    def decided_by_line(self) -> bool:
        return not {"resource_policies", "principal", "trust"} & set(self.said)

    def _identity(self) -> list[Any]:
        """The policies as given, or one of the one statement; a Deny stands beside an Allow of everything."""
        if "identity" in self.said:
            return list(self.said["identity"])
        policy = {"Version": self.said.get("version", "2012-10-17"), "Statement": [self._statement()]}
        if policy["Version"] is None:
            del policy["Version"]
        return [EVERYTHING, policy] if self.said.get("effect") == "Deny" else [policy]

    def _statement(self) -> dict[str, Any]:
        said = dict(self.said.get("statement", {}))
        action = {} if "NotAction" in said else {"Action": "*"}
        resource = {} if "NotResource" in said else {"Resource": "*"}
        condition = {"Condition": self.said["condition"]} if "condition" in self.said else {}
        return {"Effect": self.said.get("effect", "Allow"), **action, **resource, **condition, **said}


def cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.json")) for case in _of(path)]


def _of(path: Path) -> list[Case]:
    theme = json.loads(path.read_text())
    return [Case(path.stem, {**theme.get("given", {}), **said}) for said in theme["cases"]]
