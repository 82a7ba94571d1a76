"""The policies as the JSON files that are deployed."""

import json
from collections.abc import Mapping

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Policy
from keyfence_iam.roles import ROLES


def policy_json(policy: Policy) -> str:
    return json.dumps(policy.as_json(), indent=2, ensure_ascii=False) + "\n"


def policy_files(deployment: Deployment, *roles: str) -> Mapping[str, str]:
    """By file name, what each role may do, at most, and who may become it; of every role where none is named."""
    rendered = {}
    for role in roles or ROLES:
        rendered[f"{role}.json"] = policy_json(ROLES[role].identity(deployment))
        rendered[f"{role}.trust.json"] = policy_json(ROLES[role].trust(deployment))
        if boundary := ROLES[role].boundary:
            rendered[f"{role}.boundary.json"] = policy_json(boundary(deployment))
    return rendered
