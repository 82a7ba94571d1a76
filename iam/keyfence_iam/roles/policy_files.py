"""`policy_files`: the policies of roles as JSON files, which can be deployed."""

import json
from collections.abc import Mapping

from keyfence_iam.deployment import Deployment
from keyfence_iam.policy import Policy
from keyfence_iam.roles import ROLES


def policy_json(policy: Policy) -> str:
    return json.dumps(policy.as_json(), indent=2, ensure_ascii=False) + "\n"


def policy_files(deployment: Deployment, *roles: str) -> Mapping[str, str]:
    """Returns the texts of the identity, trust and boundary policies by file name.

    Without `roles`, the policies of all roles are returned.
    """
    files = {}
    for role in roles or ROLES:
        files[f"{role}.json"] = policy_json(ROLES[role].identity(deployment))
        files[f"{role}.trust.json"] = policy_json(ROLES[role].trust(deployment))
        if boundary := ROLES[role].boundary:
            files[f"{role}.boundary.json"] = policy_json(boundary(deployment))
    return files
