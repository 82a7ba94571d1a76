"""The condition keys of IAM, STS and DynamoDB, and which of them have several values."""

import difflib
import re

LEADING = frozenset({"dynamodb:leadingkeys", "dynamodb:firstpartitionkeyvalues"})
ATTRIBUTES = "dynamodb:attributes"
TAG_KEYS = "aws:tagkeys"
TRANSITIVE = "sts:transitivetagkeys"


def _keys(service: str, names: str) -> tuple[str, ...]:
    return tuple(f"{service}:{name}" for name in names.split())


_MULTIVALUED = (
    *_keys("dynamodb", "LeadingKeys FirstPartitionKeyValues SecondPartitionKeyValues"),
    *_keys("dynamodb", "ThirdPartitionKeyValues FourthPartitionKeyValues Attributes"),
    *_keys("aws", "TagKeys CalledVia PrincipalOrgPaths PrincipalServiceNamesList ResourceOrgPaths SourceOrgPaths"),
    *_keys("aws", "VpceOrgPaths"),
    *_keys("sts", "TransitiveTagKeys RequestContextProviders"),
)
_SINGLE_VALUED = (
    *_keys("dynamodb", "EnclosingOperation FullTableScan ReturnConsumedCapacity ReturnValues Select"),
    *_keys("aws", "AssumedRoot CalledViaFirst CalledViaLast ChatbotSourceArn CurrentTime Ec2InstanceSourceVpc"),
    *_keys("aws", "Ec2InstanceSourcePrivateIPv4 EpochTime FederatedProvider MultiFactorAuthAge PrincipalAccount"),
    *_keys("aws", "MultiFactorAuthPresent PrincipalArn PrincipalIsAWSService PrincipalOrgID PrincipalServiceName"),
    *_keys("aws", "PrincipalType referer RequestedRegion ResourceAccount ResourceOrgID SecureTransport SourceAccount"),
    *_keys("aws", "SourceArn SourceIdentity SourceIp SourceOrgID SourceVpc SourceVpcArn SourceVpce TokenIssueTime"),
    *_keys("aws", "UserAgent userid username ViaAWSService VpceAccount VpceOrgID VpcSourceIp"),
    *_keys("sts", "AWSServiceName DurationSeconds ExternalId RoleSessionName SourceIdentity"),
)
_TAG_PREFIXES = ("aws:principaltag/", "aws:requesttag/", "aws:resourcetag/", "iam:resourcetag/", "sts:requestcontext/")
_PROVIDER = re.compile(r"[\w-]+(\.[\w-]+)+[\w./-]*:\w+")
"""A key of an identity provider begins with the provider's host name."""

_FOLDED_MULTIVALUED = frozenset(key.lower() for key in _MULTIVALUED)
_KNOWN = {key.lower(): key for key in (*_MULTIVALUED, *_SINGLE_VALUED)}


def is_known_key(key: str) -> bool:
    folded = key.lower()
    tagged = any(folded.startswith(prefix) and len(folded) > len(prefix) for prefix in _TAG_PREFIXES)
    return not re.search(r"\s", key) and (tagged or folded in _KNOWN or bool(_PROVIDER.fullmatch(key)))


def is_multivalued(key: str) -> bool:
    return key.lower() in _FOLDED_MULTIVALUED


def suggest_key(key: str) -> str | None:
    """Returns the known key that is most similar, or None."""
    name = re.sub(r"\s", "", key).lower()
    found = [name] if name in _KNOWN else difflib.get_close_matches(name, _KNOWN, n=1, cutoff=0.7)
    suffixes = (folded for folded in _KNOWN if folded.split(":")[1] == name.rpartition(":")[2])
    return next((_KNOWN[folded] for folded in (*found, *suffixes)), None)
