"""Where a call is made: the names of resources in one region of one account."""

import re
from dataclasses import dataclass

from keyfence_iam.deployment import Deployment
from keyfence_iam.evaluator.requests.refusal import NotUnderstood

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,255}")
_ARN = re.compile(
    r"arn:(?P<partition>aws[a-z-]*):dynamodb:(?P<region>[a-z0-9-]+):(?P<account>[0-9]{12})"
    r":table/(?P<table>[A-Za-z0-9_.-]{1,255})(?:/(?P<kind>index|stream)/(?P<part>[A-Za-z0-9_.:-]{1,255}))?"
)


@dataclass(frozen=True, slots=True)
class Location:
    """A table as a call names it; `name` is None where it is not a table of this place."""

    name: str | None
    arn: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """One region of one account; engines that write a region of their own into ARNs have it in `other_regions`."""

    account: str
    region: str
    partition: str = "aws"
    other_regions: frozenset[str] = frozenset()

    @classmethod
    def of(cls, deployment: Deployment, other_regions: frozenset[str] = frozenset()) -> "Place":
        return cls(
            account=deployment.account,
            region=deployment.region,
            partition=deployment.partition,
            other_regions=other_regions,
        )

    def table_arn(self, name: str) -> str:
        return f"arn:{self.partition}:dynamodb:{self.region}:{self.account}:table/{name}"

    def locate(self, named: str) -> Location:
        """A table by its name or its ARN."""
        if _NAME.fullmatch(named):
            return Location(named, self.table_arn(named))
        found = _ARN.fullmatch(named)
        if found is None or found["kind"]:
            raise NotUnderstood("a table is named by its name or its ARN")
        return self.locate(found["table"]) if self._holds(found) else Location(None, named)

    def resource(self, arn: str, kinds: frozenset[str | None]) -> str:
        """The ARN of a table or of what belongs to it, with the region that policies know."""
        found = _ARN.fullmatch(arn)
        if found is None or found["kind"] not in kinds:
            raise NotUnderstood(f"not the ARN of a {' or a '.join(sorted(kind or 'table' for kind in kinds))}")
        if not self._holds(found):
            return arn
        return self.table_arn(found["table"]) + (f"/{found['kind']}/{found['part']}" if found["kind"] else "")

    def _holds(self, found: re.Match[str]) -> bool:
        local = found["region"] == self.region or found["region"] in self.other_regions
        return local and (found["partition"], found["account"]) == (self.partition, self.account)


def index_of(table_arn: str, index: str) -> str:
    if not _NAME.fullmatch(index):
        raise NotUnderstood("an index name has letters, digits, '_', '.' and '-'")
    return f"{table_arn}/index/{index}"
