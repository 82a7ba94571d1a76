"""Rules of policy evaluation that AWS does not document.

Each constant is an assumption that has to be confirmed on a real AWS account. Four further assumptions have no
constant, since no single line of code depends on them:

- The value of a variable is plain text: a wildcard or `${` in the value has no effect. The same is true for a default.
- The empty string is a value like any other.
- An empty list of actions, resources or condition values matches nothing.
- A number as a date means seconds since 1970, but four digits are a year. A number with 13 digits, such as
  milliseconds, is not a date.
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
"""Whether a resource policy that allows the principal "*" is enough without an identity policy.

AWS documents only that a resource policy is enough if it names the session itself.
"""
