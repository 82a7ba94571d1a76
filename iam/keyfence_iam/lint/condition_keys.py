"""The condition keys that IAM, STS and DynamoDB know, and which of them hold many values."""

import difflib
import re

LEADING = frozenset({"dynamodb:leadingkeys", "dynamodb:firstpartitionkeyvalues"})
ATTRIBUTES = "dynamodb:attributes"
TAG_KEYS = "aws:tagkeys"
TRANSITIVE = "sts:transitivetagkeys"


def _keys(service: str, names: str) -> tuple[str, ...]:
    return tuple(f"{service}:{name}" for name in names.split())


_MANY = (
    *_keys("dynamodb", "LeadingKeys FirstPartitionKeyValues SecondPartitionKeyValues"),
    *_keys("dynamodb", "ThirdPartitionKeyValues FourthPartitionKeyValues Attributes"),
    *_keys("aws", "TagKeys CalledVia PrincipalOrgPaths PrincipalServiceNamesList ResourceOrgPaths SourceOrgPaths"),
    *_keys("aws", "VpceOrgPaths"),
    *_keys("sts", "TransitiveTagKeys RequestContextProviders"),
)
_ONE = (
    *_keys("dynamodb", "EnclosingOperation FullTableScan ReturnConsumedCapacity ReturnValues Select"),
    *_keys("aws", "AssumedRoot CalledViaFirst CalledViaLast ChatbotSourceArn CurrentTime Ec2InstanceSourceVpc"),
    *_keys("aws", "Ec2InstanceSourcePrivateIPv4 EpochTime FederatedProvider MultiFactorAuthAge PrincipalAccount"),
    *_keys("aws", "MultiFactorAuthPresent PrincipalArn PrincipalIsAWSService PrincipalOrgID PrincipalServiceName"),
    *_keys("aws", "PrincipalType referer RequestedRegion ResourceAccount ResourceOrgID SecureTransport SourceAccount"),
    *_keys("aws", "SourceArn SourceIdentity SourceIp SourceOrgID SourceVpc SourceVpcArn SourceVpce TokenIssueTime"),
    *_keys("aws", "UserAgent userid username ViaAWSService VpceAccount VpceOrgID VpcSourceIp"),
    *_keys("sts", "AWSServiceName DurationSeconds ExternalId RoleSessionName SourceIdentity"),
)
_TAGGED = ("aws:principaltag/", "aws:requesttag/", "aws:resourcetag/", "iam:resourcetag/", "sts:requestcontext/")
_PROVIDER = re.compile(r"[\w-]+(\.[\w-]+)+[\w./-]*:\w+")
"""Keys of an identity provider are named after its host."""

MANY_VALUED = frozenset(key.lower() for key in _MANY)
_SPELLED = {key.lower(): key for key in (*_MANY, *_ONE)}


def is_known_key(key: str) -> bool:
    small = key.lower()
    tagged = any(small.startswith(start) and len(small) > len(start) for start in _TAGGED)
    return not re.search(r"\s", key) and (tagged or small in _SPELLED or bool(_PROVIDER.fullmatch(key)))


def is_multivalued(key: str) -> bool:
    return key.lower() in MANY_VALUED


def suggest_key(key: str) -> str | None:
    """The known key that was probably meant."""
    bare = re.sub(r"\s", "", key).lower()
    found = [bare] if bare in _SPELLED else difflib.get_close_matches(bare, _SPELLED, n=1, cutoff=0.7)
    suffixes = (small for small in _SPELLED if small.split(":")[1] == bare.rpartition(":")[2])
    return next((_SPELLED[small] for small in (*found, *suffixes)), None)
