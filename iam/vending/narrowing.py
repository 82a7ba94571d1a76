"""Static session policies that narrow a role to a profile; none of them names a tenant."""

import json
from collections.abc import Mapping

from iam.document import Policy, Statement
from iam.policies.actions import READS
from iam.vending.wanted import Profile

_READ_ONLY = Policy(statements=(Statement(effect="Allow", sid="Reads", actions=READS, resources=("*",)),))

NARROWING: Mapping[Profile, str | None] = {
    Profile.WHOLE: None,
    Profile.READ_ONLY: json.dumps(_READ_ONLY.as_json(), separators=(",", ":")),
}
