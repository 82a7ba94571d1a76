"""Which addresses belong to the public internet, and which to us, to our network, or to nobody."""

import ipaddress

_RESERVED_V4 = tuple(
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",
        "10.0.0.0/8",
        "100.64.0.0/10",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "172.16.0.0/12",
        "192.0.0.0/24",
        "192.0.2.0/24",
        "192.31.196.0/24",
        "192.52.193.0/24",
        "192.88.99.0/24",
        "192.168.0.0/16",
        "192.175.48.0/24",
        "198.18.0.0/15",
        "198.51.100.0/24",
        "203.0.113.0/24",
        "224.0.0.0/3",
    )
)
"""IANA's special-purpose addresses, multicast and what lies above it."""

_UNICAST_V6 = ipaddress.IPv6Network("2000::/3")
"""All that is given out; IPv4 in IPv6 clothes (::ffff:0:0/96, 64:ff9b::/96), unique local, link local lie outside."""
_RESERVED_V6 = tuple(
    ipaddress.IPv6Network(network)
    for network in ("2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20")
)
"""Inside of it: protocols (Teredo among them), documentation, 6to4, which carries an IPv4 address, AS112."""


def is_public(text: str) -> bool:
    """A list of our own: what `ipaddress` calls global differs between versions, and counts multicast and 6to4 in."""
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _RESERVED_V4)
    if address.scope_id is not None:
        return False
    return address in _UNICAST_V6 and not any(address in network for network in _RESERVED_V6)
