"""Rules of policy evaluation that AWS does not document.

Each constant is an assumption that has to be confirmed on a real AWS account. Four further assumptions have no
constant, since no single line of code depends on them:

- The value of a variable is plain text: a wildcard or `${` in it has no effect. Its default is plain text too.
- The empty string is a value like any other.
- An empty list of actions, resources or condition values matches nothing.
- A number as a date means seconds since 1970. A number with 13 digits, such as milliseconds, is not a date.
"""

ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS = True
"""Whether ForAnyValue with IfExists is true for an absent key.

AWS says that an absent key makes IfExists true, and also that it makes ForAnyValue false.
"""

EMPTY_LIST_IS_NO_VALUE = True
"""Whether a multivalued key with an empty list counts as absent."""

UNRESOLVED_NOT_RESOURCE_APPLIES = False
"""Whether a statement applies if a variable in its NotResource has no value."""

SHORT_ARN_IS_COMPLETED = True
"""Whether a resource such as `arn:aws:dynamodb:*`, which has fewer than six segments, matches any further segments."""

UNREADABLE_VALUE_DENIES = True
"""Whether a condition of a Deny holds if its operator cannot parse the request's value. In an Allow it never holds."""

ANY_PRINCIPAL_IS_DIRECT = True
"""Whether a resource policy with the principal "*" is enough without an identity policy.

A resource policy that names the session itself is enough.
"""
