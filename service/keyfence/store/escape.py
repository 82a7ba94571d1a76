"""Text from people made safe for a key, reversibly and without changing its order."""

import re

from keyfence.errors import BadInput

# Everything up to and including '%' is escaped, not only '#' and '%': the escapes then sort among themselves and below
# all plain text exactly as the characters do, and the '#' that ends a value sorts below everything that can follow it.
_UNSAFE = re.compile(r"[\x00-%\x7f]")
_ESCAPED = re.compile(r"%([0-9A-F]{2})")


def escape(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadInput("the text holds half a character (a lone surrogate)") from None
    return _UNSAFE.sub(lambda match: f"%{ord(match[0]):02X}", text)


def unescape(text: str) -> str:
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)
