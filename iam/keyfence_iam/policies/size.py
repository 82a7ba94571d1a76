"""How long a policy is, as IAM counts it."""

import json

from keyfence_iam.document import Policy

INLINE = 10_240
"""The characters of all inline policies of one role together; blanks are not counted."""
MANAGED = 6_144
"""The characters of a managed policy, which a boundary is."""
TRUST = 2_048
"""The characters of a trust policy, unless the account's quota was raised."""


def size(policy: Policy) -> int:
    return len(json.dumps(policy.as_json(), separators=(",", ":")))
