"""Behavior of IAM that AWS does not document. Each constant is a decision to be confirmed on a real account.

Four further decisions have no constant, since no single line of code makes them:

- The value of a variable is plain text: a wildcard or `${` in it has no effect. So is a variable's default.
- The empty string is a value like any other.
- An empty list of actions, resources or condition values matches nothing.
- A number as a date means seconds. A number with as many digits as milliseconds have is not a date.
"""

ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS = True
"""AWS says that an absent key makes IfExists true, and that it makes ForAnyValue false."""

EMPTY_LIST_IS_NO_VALUE = True
"""A multivalued key with an empty list counts as absent."""

UNRESOLVED_NOT_RESOURCE_APPLIES = False
"""Whether a statement applies if a variable in its NotResource has no value."""

SHORT_ARN_IS_COMPLETED = True
"""A resource such as arn:aws:dynamodb:*, which ends in a star too early, matches all further segments."""

UNREADABLE_VALUE_DENIES = True
"""If an operator cannot parse a request's value, no Allow applies because of it, and every Deny does."""

ANY_PRINCIPAL_IS_DIRECT = True
"""A resource policy that allows "*" needs no identity policy, like one that names the session itself."""
