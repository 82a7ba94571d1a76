"""Email addresses: `checked_email` refuses invalid ones, and `email_key` returns the form that all spellings share."""

import re
import unicodedata

import idna

from keyfence.errors import BadInput

MAX_EMAIL_LENGTH = 254
"""The longest address that SMTP can deliver to (RFC 5321)."""

_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_REFUSED_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn"})
"""The categories of control, format, surrogate, private and unassigned characters. Format characters have no width of
their own (zero-width space, soft hyphen) or change the direction of the text. The next version
of Unicode can normalize an unassigned character differently, and the key of a stored address would change."""
_INVISIBLE_IN_OTHER_CATEGORIES = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)
"""Letters, marks and symbols without a visible form: joiners, fillers of Hangul, variation selectors, blank Braille."""


def checked_email(email: str, field: str = "email") -> str:
    """Returns the address as it was typed. Raises BadInput if it is not valid."""
    _parse(email, field)
    return email


def checked_optional_email(email: str | None) -> str | None:
    return None if email is None else checked_email(email)


def email_key(email: str) -> str:
    """Returns the address in the form that its keys contain. All spellings of one address have the same form.

    The name before the @ is case-folded. The host is in the ASCII form of IDNA 2008, with the mapping of UTS #46.
    Raises BadInput if the address is not valid."""
    return "@".join(_parse(email, "email"))


def _parse(email: str, field: str) -> tuple[str, str]:
    """Returns the name and the host of an address, both normalized. Raises BadInput if the address is not valid."""
    if len(email) <= MAX_EMAIL_LENGTH:
        _refuse_invisible_characters(email, field)
        if _EMAIL.fullmatch(email):
            name, host = email.split("@")
            name = _case_folded(name)
            # Checked again, because NFKC can replace one character by a blank, an @ or several letters.
            if len(name) <= MAX_EMAIL_LENGTH and _EMAIL.fullmatch(f"{name}@host"):
                return name, _ascii_host(host, field)
    raise BadInput(f"{field} must be an address like name@host, of at most {MAX_EMAIL_LENGTH} characters", field=field)


def _refuse_invisible_characters(email: str, field: str) -> None:
    if email.isascii() and email.isprintable():
        return
    for position, character in enumerate(email, 1):
        is_refused = unicodedata.category(character) in _REFUSED_CATEGORIES
        if is_refused or _INVISIBLE_IN_OTHER_CATEGORIES.match(character):
            raise BadInput(
                f"{field} must not have invisible, control or unassigned characters; "
                f"remove U+{ord(character):04X} at position {position}",
                field=field,
            )


def _case_folded(name: str) -> str:
    """Returns the text in NFKC, without differences of case.

    Folding can break the normal form, and normalizing can produce capital letters. So both are done twice, which is
    enough for every text."""
    for _ in range(2):
        name = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return name


def _ascii_host(host: str, field: str) -> str:
    """Returns the host in ASCII. Raises BadInput if the host is not a domain name.

    The host is not case-folded first. Case folding turns `ß` into `ss`, and the host with `ss` may have another
    owner."""
    try:
        text = idna.encode(host, uts46=True, std3_rules=True).decode()
    except idna.IDNAError:
        text = "."
    if text.endswith("."):
        raise BadInput(f"{field} must have a domain name after the @", field=field)
    return text
