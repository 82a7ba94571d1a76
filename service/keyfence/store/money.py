"""Exact amounts as text."""

from decimal import Decimal


def money(amount: Decimal) -> str:
    """With two decimals, or as many as it takes: equal amounts are equal texts, though DynamoDB, which keeps no
    trailing zeros, returns 10 for 10.00."""
    whole, _, rest = format(amount, "f").partition(".")
    return f"{whole}.{rest.rstrip('0'):0<2}"
