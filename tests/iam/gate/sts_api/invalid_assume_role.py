"""Parameters of AssumeRole that violate a constraint, each with the message of STS."""

from tests.iam.gate.sts_api.sample_account import tag_parameters

NAME_PATTERN = r"satisfy regular expression pattern: [\w+=,.@-]*"
EXTERNAL_ID_PATTERN = r"satisfy regular expression pattern: [\w+=,.@:\/-]*"
POLICY_PATTERN = r"satisfy regular expression pattern: [\u0009\u000A\u000D\u0020-\u00FF]+"
TAG_PATTERN = r"satisfy regular expression pattern: [\p{L}\p{Z}\p{N}_.:/=+\-@]"
POLICY_JSON = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"dynamodb:GetItem","Resource":"*"}}'

Case = tuple[dict[str, str], str]


def invalid_parameter(name: str, value: str, *constraints: str) -> Case:
    return {name: value}, violation_message(name[0].lower() + name[1:], value, *constraints)


def violation_message(path: str, value: str, *constraints: str) -> str:
    plural = "s" if len(constraints) > 1 else ""
    violations = (
        f"Value '{value}' at '{path}' failed to satisfy constraint: Member must {constraint}"
        for constraint in constraints
    )
    return f"{len(constraints)} validation error{plural} detected: {'; '.join(violations)}"


def too_short(minimum: int) -> str:
    return f"have length greater than or equal to {minimum}"


def too_long(maximum: int) -> str:
    return f"have length less than or equal to {maximum}"


CASES: dict[str, Case] = {
    "name-with-a-slash": invalid_parameter("RoleSessionName", "a/b", NAME_PATTERN),
    "name-not-ascii": invalid_parameter("RoleSessionName", "né", NAME_PATTERN),
    "name-short": invalid_parameter("RoleSessionName", "a", too_short(2)),
    "name-long": invalid_parameter("RoleSessionName", "s" * 65, too_long(64)),
    "name-short-and-odd": invalid_parameter("RoleSessionName", "!", NAME_PATTERN, too_short(2)),
    "arn-short": invalid_parameter("RoleArn", "not-an-arn", too_short(20)),
    "arn-odd": ({"RoleArn": "nothing-valid-in-here"}, "nothing-valid-in-here is invalid"),
    "arn-without-resource": ({"RoleArn": "arn:a:a::aaaaaaaaaa:"}, "arn:a:a::aaaaaaaaaa: is invalid"),
    "arn-without-service": ({"RoleArn": "arn:a::::something/test-role"}, "arn:a::::something/test-role is invalid"),
    "duration-short": invalid_parameter("DurationSeconds", "899", "have value greater than or equal to 900"),
    "duration-long": invalid_parameter("DurationSeconds", "43201", "have value less than or equal to 43200"),
    "duration-negative": invalid_parameter("DurationSeconds", "-1", "have value greater than or equal to 900"),
    "external-id-with-a-blank": invalid_parameter("ExternalId", "bad value", EXTERNAL_ID_PATTERN),
    "source-identity-reserved": invalid_parameter("SourceIdentity", "aws:me", NAME_PATTERN),
    "token-size": invalid_parameter("MinimumSessionTokenSize", "4097", "have value less than or equal to 4096"),
    "policy-not-latin": invalid_parameter("Policy", '{"€":1}', POLICY_PATTERN),
    "policy-long": invalid_parameter("Policy", POLICY_JSON.ljust(2049), too_long(2048)),
    "tag-value-star": (
        tag_parameters(("tenant", "*")),
        violation_message("tags.1.member.value", "*", f"{TAG_PATTERN}*"),
    ),
    "tag-key-empty": (
        tag_parameters(("", "acme")),
        violation_message("tags.1.member.key", "", f"{TAG_PATTERN}+", too_short(1)),
    ),
    "tag-key-long": (
        tag_parameters(("k" * 129, "v")),
        violation_message("tags.1.member.key", "k" * 129, too_long(128)),
    ),
    "tag-value-long": (
        tag_parameters(("k", "v" * 257)),
        violation_message("tags.1.member.value", "v" * 257, too_long(256)),
    ),
    "tag-value-missing": (
        {"Tags__member__1__Key": "tenant"},
        "1 validation error detected: Value null at 'tags.1.member.value' failed to satisfy constraint: "
        "Member must not be null",
    ),
    "tags-too-many": (
        tag_parameters(*((f"k{number}", "v") for number in range(51))),
        "1 validation error detected: Value at 'tags' failed to satisfy constraint: "
        "Member must have length less than or equal to 50",
    ),
}
