"""The condition keys of IAM, STS and DynamoDB, and which of them are multivalued."""

import difflib
import re

LEADING_KEY_NAMES = frozenset({"dynamodb:leadingkeys", "dynamodb:firstpartitionkeyvalues"})
ATTRIBUTES_KEY = "dynamodb:attributes"
TAG_KEYS = "aws:tagkeys"
TRANSITIVE_TAG_KEYS = "sts:transitivetagkeys"
"""The keys in these four constants are in lower case, since IAM ignores the case of condition keys."""


def _keys(service: str, names: str) -> tuple[str, ...]:
    return tuple(f"{service}:{name}" for name in names.split())


_MULTIVALUED_KEYS = (
    *_keys("dynamodb", "LeadingKeys FirstPartitionKeyValues SecondPartitionKeyValues"),
    *_keys("dynamodb", "ThirdPartitionKeyValues FourthPartitionKeyValues Attributes"),
    *_keys("aws", "TagKeys CalledVia PrincipalOrgPaths PrincipalServiceNamesList ResourceOrgPaths SourceOrgPaths"),
    *_keys("aws", "VpceOrgPaths"),
    *_keys("sts", "TransitiveTagKeys RequestContextProviders"),
)
_SINGLE_VALUED_KEYS = (
    *_keys("dynamodb", "EnclosingOperation FullTableScan ReturnConsumedCapacity ReturnValues Select"),
    *_keys("aws", "AssumedRoot CalledViaFirst CalledViaLast ChatbotSourceArn CurrentTime Ec2InstanceSourceVpc"),
    *_keys("aws", "Ec2InstanceSourcePrivateIPv4 EpochTime FederatedProvider MultiFactorAuthAge PrincipalAccount"),
    *_keys("aws", "MultiFactorAuthPresent PrincipalArn PrincipalIsAWSService PrincipalOrgID PrincipalServiceName"),
    *_keys("aws", "PrincipalType referer RequestedRegion ResourceAccount ResourceOrgID SecureTransport SourceAccount"),
    *_keys("aws", "SourceArn SourceIdentity SourceIp SourceOrgID SourceVpc SourceVpcArn SourceVpce TokenIssueTime"),
    *_keys("aws", "UserAgent userid username ViaAWSService VpceAccount VpceOrgID VpcSourceIp"),
    *_keys("sts", "AWSServiceName DurationSeconds ExternalId RoleSessionName SourceIdentity"),
)
_PREFIXES_BEFORE_TAG = (
    "aws:principaltag/",
    "aws:requesttag/",
    "aws:resourcetag/",
    "iam:resourcetag/",
    "sts:requestcontext/",
)
_IDENTITY_PROVIDER_KEY = re.compile(r"[\w-]+(\.[\w-]+)+[\w./-]*:\w+")
"""A condition key of an identity provider, which begins with the provider's host name."""

_LOWERCASE_MULTIVALUED_KEYS = frozenset(key.lower() for key in _MULTIVALUED_KEYS)
_KEYS_BY_LOWERCASE = {key.lower(): key for key in (*_MULTIVALUED_KEYS, *_SINGLE_VALUED_KEYS)}


def is_known_key(key: str) -> bool:
    lowercase = key.lower()
    if re.search(r"\s", key):
        return False
    if any(lowercase.startswith(prefix) and len(lowercase) > len(prefix) for prefix in _PREFIXES_BEFORE_TAG):
        return True
    return lowercase in _KEYS_BY_LOWERCASE or _IDENTITY_PROVIDER_KEY.fullmatch(key) is not None


def is_multivalued(key: str) -> bool:
    return key.lower() in _LOWERCASE_MULTIVALUED_KEYS


def suggest_key(key: str) -> str | None:
    """Returns the known key that is most similar to this key, or None if no known key is similar."""
    name = re.sub(r"\s", "", key).lower()
    if name in _KEYS_BY_LOWERCASE:
        return _KEYS_BY_LOWERCASE[name]
    similar = difflib.get_close_matches(name, _KEYS_BY_LOWERCASE, n=1, cutoff=0.7)
    name_without_service = name.rpartition(":")[2]
    with_same_name = (known for known in _KEYS_BY_LOWERCASE if known.split(":")[1] == name_without_service)
    return next((_KEYS_BY_LOWERCASE[known] for known in (*similar, *with_same_name)), None)
