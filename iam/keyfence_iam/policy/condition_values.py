"""Parsers of condition values: numbers, dates, booleans, binary values and IP addresses."""

import base64
import binascii
import re
from datetime import UTC, datetime
from decimal import Decimal
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,40}(?:\.[0-9]{1,40})?|\.[0-9]{1,40})(?:[eE][+-]?[0-9]{1,3})?")
_EPOCH = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?")
_ISO = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?)?)?"
)
_CIDR = re.compile(r"[0-9A-Fa-f:.]{2,45}(?:/[0-9]{1,3})?")
_START = datetime(1970, 1, 1, tzinfo=UTC)


class InvalidValue(ValueError):
    """The text does not have the type that its operator compares."""


def number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise InvalidValue(f"{text[:40]!r} is not a number")
    return Decimal(text)


@lru_cache(maxsize=1024)
def date(text: str) -> Decimal:
    """Returns seconds since 1970. The text is an ISO 8601 date or a number of seconds. Four digits are a year."""
    if found := _ISO.fullmatch(text):
        return _seconds(found)
    if _EPOCH.fullmatch(text):
        return Decimal(text)
    raise InvalidValue(f"{text[:40]!r} is neither an ISO 8601 date nor seconds since 1970")


def _seconds(found: re.Match[str]) -> Decimal:
    year, month, day = (int(found[name] or 1) for name in ("year", "month", "day"))
    hour, minute, second = (int(found[name] or 0) for name in ("hour", "minute", "second"))
    try:
        since = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _START
    except ValueError as error:
        raise InvalidValue(f"{found[0]!r} is not a date: {error}") from error
    return Decimal(since.days * 86400 + since.seconds - _offset(found["zone"])) + Decimal(f"0.{found['fraction'] or 0}")


def _offset(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise InvalidValue(f"{text[:40]!r} is neither true nor false")
    return text.lower() == "true"


def binary(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidValue(f"{text[:40]!r} is not base64") from error


def address(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError as error:
        raise InvalidValue(f"{text[:40]!r} is not an IP address") from error


def network(text: str) -> Network:
    """Returns a CIDR block, or a single address if there is no prefix length. Host bits are ignored."""
    if not _CIDR.fullmatch(text):
        raise InvalidValue(f"{text[:50]!r} is not an IP address or CIDR block")
    try:
        return ip_network(text, strict=False)
    except ValueError as error:
        raise InvalidValue(f"{text[:50]!r} is not an IP address or CIDR block") from error
