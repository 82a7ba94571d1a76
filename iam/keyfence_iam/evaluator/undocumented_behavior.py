"""What AWS leaves open, and what is taken to hold here; each is to be confirmed on a real account.

Further readings of silent documents, which no switch could turn:
a substituted value is plain text, so that a wildcard or `${` in it does nothing; the empty text is a value like any
other; a default that stands in for a missing variable is plain text too; an empty list of actions, resources or
condition values matches nothing; numbers that say a time are seconds, and what has the digits of milliseconds is none.
"""

ABSENT_KEY_SATISFIES_FOR_ANY_VALUE_IF_EXISTS = True
"""AWS says of IfExists that an absent key makes the condition true, and of ForAnyValue that it makes it false."""

EMPTY_LIST_IS_NO_VALUE = True
"""A key of ArrayOf type that holds nothing is as if it were not there."""

UNRESOLVED_NOT_RESOURCE_APPLIES = False
"""Whether a statement applies whose NotResource has a variable without a value."""

SHORT_ARN_IS_COMPLETED = True
"""A resource that ends in a star before its sixth segment, as arn:aws:dynamodb:*, has stars for those it lacks."""

UNREADABLE_VALUE_DENIES = True
"""A request's value that its operator cannot read: no Allow applies for it, and every Deny does."""

ANY_PRINCIPAL_IS_DIRECT = True
"""A resource policy's grant to "*" holds without an identity policy, like one to the very session."""
