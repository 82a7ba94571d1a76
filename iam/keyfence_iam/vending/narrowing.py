"""Static session policies that narrow a role to a profile; none of them names a tenant."""

import json
from collections.abc import Mapping
from functools import cache

from keyfence_iam.deployment import Deployment
from keyfence_iam.document import Policy, Statement
from keyfence_iam.policies.actions import READS
from keyfence_iam.policies.tag import TENANT_OF_SESSION
from keyfence_iam.vending.wanted import Profile

EVERY_CALL = ("dynamodb:*",)
"""The role says which; that it is short counts, since the policy travels in the session's token."""
ANY_REGION = "*"


@cache
def narrowing(roles: str, table: str) -> Mapping[Profile, str | None]:
    """For the table of the account that the roles, whose ARNs begin so, are in."""
    _, partition, _, _, account, _ = roles.split(":", 5)
    there = Deployment(account=account, region=ANY_REGION, table=table, partition=partition)
    return {
        Profile.WHOLE: None,
        Profile.READ_ONLY: _text(Statement(effect="Allow", sid="Reads", actions=READS, resources=("*",))),
        Profile.POOL: _text(_within("Pool", there.table_arn)),
        Profile.SILO: _text(_within("Silo", there.silo_arn(TENANT_OF_SESSION))),
    }


def _within(sid: str, table: str) -> Statement:
    return Statement(effect="Allow", sid=sid, actions=EVERY_CALL, resources=(table, f"{table}/index/*"))


def _text(statement: Statement) -> str:
    return json.dumps(Policy(statements=(statement,)).as_json(), separators=(",", ":"))
