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
_EPOCH_SECONDS = re.compile(r"-?[0-9]{1,12}(?:\.[0-9]{1,9})?")
_ISO_DATE = re.compile(
    r"(?P<year>[0-9]{4})(?:-(?P<month>[0-9]{2})(?:-(?P<day>[0-9]{2})"
    r"(?:T(?P<hour>[0-9]{2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:\.(?P<fraction>[0-9]{1,9}))?)?"
    r"(?P<zone>Z|[+-][0-9]{2}:[0-9]{2})?)?)?)?"
)
_CIDR = re.compile(r"[0-9A-Fa-f:.]{2,45}(?:/[0-9]{1,3})?")
_EPOCH_START = datetime(1970, 1, 1, tzinfo=UTC)


class InvalidValue(ValueError):
    """The text is not a value of the type that the condition operator compares."""


def parse_number(text: str) -> Decimal:
    if not _NUMBER.fullmatch(text):
        raise InvalidValue(f"{text[:40]!r} is not a number")
    return Decimal(text)


@lru_cache(maxsize=1024)
def parse_date(text: str) -> Decimal:
    """Returns seconds since 1970. The text is an ISO 8601 date or a number of seconds. Four digits are a year."""
    if match := _ISO_DATE.fullmatch(text):
        return _seconds_since_epoch(match)
    if _EPOCH_SECONDS.fullmatch(text):
        return Decimal(text)
    raise InvalidValue(f"{text[:40]!r} is neither an ISO 8601 date nor seconds since 1970")


def _seconds_since_epoch(date: re.Match[str]) -> Decimal:
    year, month, day = (int(date[name] or 1) for name in ("year", "month", "day"))
    hour, minute, second = (int(date[name] or 0) for name in ("hour", "minute", "second"))
    try:
        elapsed = datetime(year, month, day, hour, minute, second, tzinfo=UTC) - _EPOCH_START
    except ValueError as error:
        raise InvalidValue(f"{date[0]!r} is not a date: {error}") from error
    whole_seconds = elapsed.days * 86400 + elapsed.seconds - _utc_offset_seconds(date["zone"])
    return Decimal(whole_seconds) + Decimal(f"0.{date['fraction'] or 0}")


def _utc_offset_seconds(zone: str | None) -> int:
    if zone is None or zone == "Z":
        return 0
    hours, minutes = int(zone[1:3]), int(zone[4:6])
    return (hours * 3600 + minutes * 60) * (-1 if zone[0] == "-" else 1)


def parse_boolean(text: str) -> bool:
    if text.lower() not in {"true", "false"}:
        raise InvalidValue(f"{text[:40]!r} is neither true nor false")
    return text.lower() == "true"


def parse_binary(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise InvalidValue(f"{text[:40]!r} is not base64") from error


def parse_address(text: str) -> Address:
    try:
        return ip_address(text)
    except ValueError as error:
        raise InvalidValue(f"{text[:40]!r} is not an IP address") from error


def parse_network(text: str) -> Network:
    """Returns the network of a CIDR block. An address without a prefix length is a network of one address.

    Host bits are ignored.
    """
    if not _CIDR.fullmatch(text):
        raise InvalidValue(f"{text[:50]!r} is not an IP address or CIDR block")
    try:
        return ip_network(text, strict=False)
    except ValueError as error:
        raise InvalidValue(f"{text[:50]!r} is not an IP address or CIDR block") from error
