"""What a call of AssumeRole asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from keyfence_iam.document import BadPolicy, parse_text
from keyfence_iam.gate.query import constraint
from keyfence_iam.gate.query.declined import Declined, invalid
from keyfence_iam.gate.query.form import Form

MOST_TAGS = 50
MOST_POLICIES = 10
MOST_POLICY_TEXT = 2048
SHORTEST, LONGEST, DEFAULT = 900, 43_200, 3_600


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumption:
    """Checked in itself; whether it is allowed depends on who asks."""

    role_arn: str
    name: str
    seconds: int = DEFAULT
    tags: Mapping[str, str] = field(default_factory=dict)
    transitive: tuple[str, ...] = ()
    policy: str | None = None
    policy_arns: tuple[str, ...] = ()
    external_id: str | None = None
    source_identity: str | None = None
    smallest_token: int = 0


def read(form: Form) -> Assumption:
    """Raises Declined with all that is wrong with single values, and after that with what is wrong between them."""
    seconds = constraint.whole_number(form.find("DurationSeconds"))
    smallest = constraint.whole_number(form.find("MinimumSessionTokenSize"))
    tags, transitive = form.members("Tags"), form.texts("TransitiveTagKeys")
    arns = tuple(member.get("arn", "") for member in form.members("PolicyArns"))
    constraint.refuse(
        [
            *_texts(form),
            *constraint.outside(seconds, "durationSeconds", SHORTEST, LONGEST),
            *constraint.outside(smallest, "minimumSessionTokenSize", 0, 4096),
            *_tags(tags),
            *_keys(transitive),
            *_arns(arns),
        ]
    )
    assumption = Assumption(
        role_arn=form.find("RoleArn") or "",
        name=form.find("RoleSessionName") or "",
        seconds=DEFAULT if seconds is None else seconds,
        tags={tag["Key"]: tag["Value"] for tag in tags},
        transitive=transitive,
        policy=form.find("Policy"),
        policy_arns=arns,
        external_id=form.find("ExternalId"),
        source_identity=form.find("SourceIdentity"),
        smallest_token=smallest or 0,
    )
    _check_arn(assumption.role_arn)
    _check_tags([tag["Key"].lower() for tag in tags], [key.lower() for key in transitive])
    _check_policy(assumption)
    return assumption


def _texts(form: Form) -> list[str]:
    required = [
        *constraint.ARN.violations(form.find("RoleArn"), "roleArn"),
        *constraint.NAME.violations(form.find("RoleSessionName"), "roleSessionName"),
    ]
    optional = (
        (constraint.POLICY, "Policy", "policy"),
        (constraint.EXTERNAL_ID, "ExternalId", "externalId"),
        (constraint.NAME, "SourceIdentity", "sourceIdentity"),
    )
    given = ((rule, value, where) for rule, name, where in optional if (value := form.find(name)) is not None)
    return [*required, *(violation for rule, value, where in given for violation in rule.violations(value, where))]


def _tags(tags: tuple[Mapping[str, str], ...]) -> list[str]:
    wrong = constraint.too_many(len(tags), "tags", MOST_TAGS)
    for number, tag in enumerate(tags, 1):
        wrong += constraint.TAG_KEY.violations(tag.get("Key"), f"tags.{number}.member.key")
        wrong += constraint.TAG_VALUE.violations(tag.get("Value"), f"tags.{number}.member.value")
    return wrong


def _keys(transitive: tuple[str, ...]) -> list[str]:
    wrong = constraint.too_many(len(transitive), "transitiveTagKeys", MOST_TAGS)
    for number, key in enumerate(transitive, 1):
        wrong += constraint.TAG_KEY.violations(key, f"transitiveTagKeys.{number}.member")
    return wrong


def _arns(arns: tuple[str, ...]) -> list[str]:
    wrong = constraint.too_many(len(arns), "policyArns", MOST_POLICIES)
    for number, arn in enumerate(arns, 1):
        wrong += constraint.ARN.violations(arn, f"policyArns.{number}.member.arn")
    return wrong


def _check_arn(arn: str) -> None:
    parts = arn.split(":", 5)
    if len(parts) != 6 or parts[0] != "arn" or not (parts[1] and parts[2] and parts[5]):
        raise invalid(f"{arn} is invalid")


def _check_tags(keys: list[str], transitive: list[str]) -> None:
    if len(set(keys)) < len(keys):
        message = "Duplicate tag keys found. Please note that Tag keys are case insensitive."
        raise Declined("InvalidParameterValue", message)
    if any(key.startswith("aws:") for key in keys):
        raise Declined("InvalidParameterValue", "Tag keys that begin with 'aws:' are reserved.")
    if not set(transitive) <= set(keys):
        message = "The specified transitive tag key must be included in the requested tags."
        raise Declined("InvalidParameterValue", message)


def _check_policy(assumption: Assumption) -> None:
    plain = len(assumption.policy or "") + sum(len(arn) for arn in assumption.policy_arns)
    if plain > MOST_POLICY_TEXT:
        raise invalid(f"The session policies have {plain} characters of at most {MOST_POLICY_TEXT}.")
    if assumption.policy is not None:
        try:
            parse_text(assumption.policy)
        except BadPolicy as error:
            raise Declined("MalformedPolicyDocument", str(error)) from error
