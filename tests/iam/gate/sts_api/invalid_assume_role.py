"""Parameters of AssumeRole that violate a constraint, each with the message of STS."""

from tests.iam.gate.sts_api.sample_account import tagged

NAME = r"satisfy regular expression pattern: [\w+=,.@-]*"
EXTERNAL_ID = r"satisfy regular expression pattern: [\w+=,.@:\/-]*"
POLICY = r"satisfy regular expression pattern: [\u0009\u000A\u000D\u0020-\u00FF]+"
TAG = r"satisfy regular expression pattern: [\p{L}\p{Z}\p{N}_.:/=+\-@]"
STATEMENT = '{"Version":"2012-10-17","Statement":{"Effect":"Allow","Action":"dynamodb:GetItem","Resource":"*"}}'

Case = tuple[dict[str, str], str]


def broken(name: str, value: str, *constraints: str) -> Case:
    return {name: value}, invalid(name[0].lower() + name[1:], value, *constraints)


def invalid(where: str, value: str, *constraints: str) -> str:
    plural = "s" if len(constraints) > 1 else ""
    violations = (
        f"Value '{value}' at '{where}' failed to satisfy constraint: Member must {one}" for one in constraints
    )
    return f"{len(constraints)} validation error{plural} detected: {'; '.join(violations)}"


def shorter_than(length: int) -> str:
    return f"have length greater than or equal to {length}"


def longer_than(length: int) -> str:
    return f"have length less than or equal to {length}"


CASES: dict[str, Case] = {
    "name-with-a-slash": broken("RoleSessionName", "a/b", NAME),
    "name-not-ascii": broken("RoleSessionName", "né", NAME),
    "name-short": broken("RoleSessionName", "a", shorter_than(2)),
    "name-long": broken("RoleSessionName", "s" * 65, longer_than(64)),
    "name-short-and-odd": broken("RoleSessionName", "!", NAME, shorter_than(2)),
    "arn-short": broken("RoleArn", "not-an-arn", shorter_than(20)),
    "arn-odd": ({"RoleArn": "nothing-valid-in-here"}, "nothing-valid-in-here is invalid"),
    "arn-without-resource": ({"RoleArn": "arn:a:a::aaaaaaaaaa:"}, "arn:a:a::aaaaaaaaaa: is invalid"),
    "arn-without-service": ({"RoleArn": "arn:a::::something/test-role"}, "arn:a::::something/test-role is invalid"),
    "duration-short": broken("DurationSeconds", "899", "have value greater than or equal to 900"),
    "duration-long": broken("DurationSeconds", "43201", "have value less than or equal to 43200"),
    "duration-negative": broken("DurationSeconds", "-1", "have value greater than or equal to 900"),
    "external-id-with-a-blank": broken("ExternalId", "bad value", EXTERNAL_ID),
    "source-identity-reserved": broken("SourceIdentity", "aws:me", NAME),
    "token-size": broken("MinimumSessionTokenSize", "4097", "have value less than or equal to 4096"),
    "policy-not-latin": broken("Policy", '{"€":1}', POLICY),
    "policy-long": broken("Policy", STATEMENT.ljust(2049), longer_than(2048)),
    "tag-value-star": (tagged(("tenant", "*")), invalid("tags.1.member.value", "*", f"{TAG}*")),
    "tag-key-empty": (tagged(("", "acme")), invalid("tags.1.member.key", "", f"{TAG}+", shorter_than(1))),
    "tag-key-long": (tagged(("k" * 129, "v")), invalid("tags.1.member.key", "k" * 129, longer_than(128))),
    "tag-value-long": (tagged(("k", "v" * 257)), invalid("tags.1.member.value", "v" * 257, longer_than(256))),
    "tag-value-missing": (
        {"Tags__member__1__Key": "tenant"},
        "1 validation error detected: Value null at 'tags.1.member.value' failed to satisfy constraint: "
        "Member must not be null",
    ),
    "tags-too-many": (
        tagged(*((f"k{number}", "v") for number in range(51))),
        "1 validation error detected: Value at 'tags' failed to satisfy constraint: "
        "Member must have length less than or equal to 50",
    ),
}
