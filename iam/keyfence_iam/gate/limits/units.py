"""Capacity units: what bytes cost to write and to read."""

WRITE_BYTES = 1024
READ_BYTES = 4096
TRANSACTED = 2
"""Every item of a transaction is prepared and then committed."""


def write_units(size: int) -> float:
    return float(max(1, -(-size // WRITE_BYTES)))


def read_units(size: int, *, consistent: bool) -> float:
    """What is not there costs as much as the smallest that is."""
    whole = max(1, -(-size // READ_BYTES))
    return float(whole) if consistent else whole / 2
