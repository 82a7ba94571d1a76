"""How the issuers that tenants own are spelled."""

import re

MAX_ISSUER = 512

_HTTPS = re.compile(
    r"https://(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[\w.~%!$&'()*+,;=:@/-]*)?",
    re.ASCII,
)
"""RFC 8414, section 2: https, with neither query nor fragment; nor with a user's name."""


def is_issuer_url(text: str) -> bool:
    """One spelling is one issuer: tokens are compared with it letter by letter, so nothing is made equal here."""
    return len(text) <= MAX_ISSUER and _HTTPS.fullmatch(text) is not None
