"""Reads the cases of tests/cases/iam. Each has a sentence, policies, a request, and the decision that AWS documents."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "cases" / "iam"
EVERYTHING = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
TABLE_ARN = "arn:aws:dynamodb:us-east-1:000000000000:table/app"


@dataclass(frozen=True, slots=True)
class Case:
    """One case of a file. `topic` is the name of the file."""

    topic: str
    fields: Mapping[str, Any]

    def __str__(self) -> str:
        return f"{self.topic}: {self.fields['case']}"

    @property
    def line(self) -> dict[str, Any]:
        """The case as a line for `keyfence policy evaluate`."""
        request = {
            "identity": self._identity(),
            "action": self.fields.get("action", "dynamodb:GetItem"),
            "resource": self.fields.get("resource", TABLE_ARN),
            "context": self.fields.get("context", {}),
        }
        return request | {kind: self.fields[kind] for kind in ("session", "boundary") if kind in self.fields}

    @property
    def fits_on_line(self) -> bool:
        """Whether a line can express the case. A line has no resource policy, trust policy and principal."""
        return not {"resource_policies", "principal", "trust"} & set(self.fields)

    def _identity(self) -> list[Any]:
        """Returns the policies of the case, or one with its statement. For a Deny, another policy allows everything."""
        if "identity" in self.fields:
            return list(self.fields["identity"])
        policy = {"Version": self.fields.get("version", "2012-10-17"), "Statement": [self._statement()]}
        if policy["Version"] is None:
            del policy["Version"]
        return [EVERYTHING, policy] if self.fields.get("effect") == "Deny" else [policy]

    def _statement(self) -> dict[str, Any]:
        elements = dict(self.fields.get("statement", {}))
        action = {} if "NotAction" in elements else {"Action": "*"}
        resource = {} if "NotResource" in elements else {"Resource": "*"}
        condition = {"Condition": self.fields["condition"]} if "condition" in self.fields else {}
        return {"Effect": self.fields.get("effect", "Allow"), **action, **resource, **condition, **elements}


def cases() -> list[Case]:
    return [case for path in sorted(FOLDER.glob("*.json")) for case in _read_cases(path)]


def _read_cases(path: Path) -> list[Case]:
    topic = json.loads(path.read_text())
    return [Case(path.stem, {**topic.get("given", {}), **fields}) for fields in topic["cases"]]
