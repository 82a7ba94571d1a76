"""Changes of a valid JWT: each header parameter and claim, the signature, the text, and the Authorization header."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature, encode_dss_signature
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt import PyJWS

from tests.fakes.identity_provider import jwk, private_key
from tests.isolation.fuzz.token_draft import Members, TextEdit, TokenDraft, value_of, with_value, without

P256_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
HEADER_PARAMETERS = ("alg", "kid", "typ", "crit", "b64", "jwk", "jku", "x5u", "x5c", "cty", "zip", "enc")
CLAIMS = ("iss", "aud", "sub", "exp", "iat", "nbf", "jti", "tenant", "role", "scope", "groups")
BASE64URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"


@dataclass(frozen=True, slots=True)
class TokenMutation:
    """A change of a token. Two changes of different `part`s can be combined."""

    part: str
    name: str
    change: Callable[[TokenDraft], TokenDraft]

    def __str__(self) -> str:
        return f"{self.part}: {self.name}"


def token_mutations(key: ec.EllipticCurvePrivateKey, neighbour: str) -> list[TokenMutation]:
    """Returns every change of a token that `key` signs. `neighbour` is the id of another tenant."""
    return [
        *_member_mutations("header", HEADER_PARAMETERS, neighbour, TokenDraft.with_header),
        *_member_mutations("claim", CLAIMS, neighbour, TokenDraft.with_claims),
        *(_signature_mutations(key)),
        *(TokenMutation("text", name, _edited(edit)) for name, edit in TEXT_EDITS.items()),
        *(TokenMutation("scheme", repr(scheme), _with_scheme(scheme)) for scheme in SCHEMES),
    ]


def _member_mutations(
    part: str, names: tuple[str, ...], neighbour: str, change_members: Callable[[TokenDraft, Any], TokenDraft]
) -> Iterator[TokenMutation]:
    for name in names:
        for value_name, change in _member_changes(name, neighbour).items():
            yield TokenMutation(f"{part} {name}", value_name, _apply(change_members, change))


def _apply(
    change_members: Callable[[TokenDraft, Any], TokenDraft], change: Callable[[Members], Members]
) -> Callable[[TokenDraft], TokenDraft]:
    return lambda draft: change_members(draft, change)


def _member_changes(name: str, neighbour: str) -> Mapping[str, Callable[[Members], Members]]:
    """Returns changes of one member of a JSON object."""

    def new_value(value: Any) -> Callable[[Members], Members]:
        return lambda members: with_value(members, name, value)

    def new_text(change: Callable[[str], Any]) -> Callable[[Members], Members]:
        return lambda members: with_value(members, name, change(str(value_of(members, name) or "text")))

    return {
        "missing": lambda members: without(members, name),
        "null": new_value(None),
        "true": new_value(True),
        "false": new_value(False),
        "zero": new_value(0),
        "negative": new_value(-1),
        "fraction": new_value(1.5),
        "huge": new_value(10**300),
        "empty": new_value(""),
        "other text": new_value("other"),
        "list": new_value([]),
        "object": new_value({}),
        "list of itself": lambda members: with_value(members, name, [value_of(members, name)]),
        "list of itself and more": lambda members: with_value(members, name, [value_of(members, name), "other"]),
        "300 characters": new_value("x" * 300),
        "9,000 characters": new_value("x" * 9_000),
        "control character": new_text(lambda text: f"{text}\x00"),
        "surrogate": new_value("\ud800"),
        "look-alike": new_text(lambda text: text.replace("e", "\u0435").replace("a", "\u0430") + "\u200b"),
        "full width": new_text(lambda text: "".join(chr(ord(letter) + 0xFEE0) for letter in text)),
        "upper case": new_text(lambda text: f"X{text.upper()}"),
        "blank before": new_text(lambda text: f" {text}"),
        "blank after": new_text(lambda text: f"{text} "),
        "neighbour": new_value(neighbour),
        "neighbour's key": new_value(f"TENANT#{neighbour}#"),
        "twice": lambda members: (*members, (name, value_of(members, name))),
        "twice, the neighbour first": lambda members: ((name, neighbour), *members, (name, value_of(members, name))),
    }


def _signature_mutations(key: ec.EllipticCurvePrivateKey) -> Iterator[TokenMutation]:
    public_key = key.public_key()
    pem, der = (
        public_key.public_bytes(encoding, PublicFormat.SubjectPublicKeyInfo)
        for encoding in (Encoding.PEM, Encoding.DER)
    )
    for algorithm in ("none", "None", "", "ES256"):
        yield _signed(f"empty, alg {algorithm!r}", lambda _: b"", {"alg": algorithm})
    for name, secret in {"PEM": pem, "DER": der, "nothing": b"0"}.items():
        for algorithm in ("HS256", "HS512"):
            sign = _with_algorithm(algorithm, secret)
            yield _signed(f"{algorithm} with {name}", sign, {"alg": algorithm})
            yield _signed(f"{algorithm} with {name}, alg ES256", sign, {})
    for algorithm in ("ES256", "ES384", "ES512", "RS256", "EdDSA"):
        stranger = private_key(algorithm, "stranger")
        sign = _with_algorithm(algorithm, stranger)
        yield _signed(f"{algorithm} of a stranger", sign, {"alg": algorithm})
        yield _signed(f"{algorithm} of a stranger, alg ES256", sign, {})
        embedded = {"alg": algorithm, "jwk": jwk(stranger, "key-1"), "jku": "https://evil.example/jwks"}
        yield _signed(f"{algorithm} of a stranger with its jwk", sign, embedded)
    for name, change in SIGNATURE_CHANGES.items():
        yield TokenMutation("signature", name, _with_changed_signature(change))


def _signed(name: str, sign: Callable[[bytes], bytes], header: Mapping[str, Any]) -> TokenMutation:
    def change(draft: TokenDraft) -> TokenDraft:
        for parameter, value in header.items():
            draft = replace(draft, header=with_value(draft.header, parameter, value))
        return replace(draft, sign=sign)

    return TokenMutation("signature", name, change)


def _with_algorithm(algorithm: str, key: Any) -> Callable[[bytes], bytes]:
    return lambda content: PyJWS().get_algorithm_by_name(algorithm).sign(content, key)


def _with_changed_signature(change: Callable[[bytes], bytes]) -> Callable[[TokenDraft], TokenDraft]:
    return lambda draft: replace(draft, sign=lambda content: change(draft.sign(content)))


def _in_der(signature: bytes) -> bytes:
    return encode_dss_signature(int.from_bytes(signature[:32], "big"), int.from_bytes(signature[32:], "big"))


def _with_other_s(signature: bytes) -> bytes:
    r, s = decode_dss_signature(_in_der(signature))
    return r.to_bytes(32, "big") + (P256_ORDER - s).to_bytes(32, "big")


SIGNATURE_CHANGES: Mapping[str, Callable[[bytes], bytes]] = {
    "one byte less": lambda signature: signature[:-1],
    "half": lambda signature: signature[:32],
    "one byte more": lambda signature: signature + b"\x00",
    "twice": lambda signature: signature * 2,
    "zeros": lambda signature: bytes(len(signature)),
    "zeros and the order": lambda _: bytes(32) + P256_ORDER.to_bytes(32, "big"),
    "ones": lambda signature: b"\xff" * len(signature),
    "DER": _in_der,
    "one bit": lambda signature: bytes([signature[0] ^ 1]) + signature[1:],
    "halves swapped": lambda signature: signature[32:] + signature[:32],
    "(r, n - s)": _with_other_s,
}


def _edited(edit: TextEdit) -> Callable[[TokenDraft], TokenDraft]:
    return lambda draft: draft.with_edit(edit)


def _part_edit(number: int, edit: TextEdit) -> TextEdit:
    def edit_part(text: str) -> str:
        parts = text.split(".")
        parts[number % len(parts)] = edit(parts[number % len(parts)])
        return ".".join(parts)

    return edit_part


def _with_other_trailing_bits(part: str) -> str:
    """Returns base64url text that many decoders read as the same bytes, or text with another last character."""
    return part[:-1] + BASE64URL[BASE64URL.index(part[-1]) ^ 1]


TEXT_EDITS: Mapping[str, TextEdit] = {
    "dot before": lambda text: f".{text}",
    "dot after": lambda text: f"{text}.",
    "fourth part": lambda text: f"{text}.e30",
    "five parts": lambda text: f"{text}.AAAA.AAAA",
    "two parts": lambda text: text.rpartition(".")[0],
    "no signature": lambda text: f"{text.rpartition('.')[0]}.",
    "no dots": lambda text: text.replace(".", ""),
    "double dots": lambda text: text.replace(".", ".."),
    "other separator": lambda text: text.replace(".", ":"),
    "twice": lambda text: f"{text},{text}",
    "in quotes": lambda text: f'"{text}"',
    "blank inside": lambda text: text.replace(".", ". "),
    "line end inside": lambda text: text.replace(".", "\n."),
    "byte order mark": lambda text: f"\xef\xbb\xbf{text}",
    "upper case": str.upper,
    "lower case": str.lower,
    "blank after": lambda text: f"{text} ",
    "tab after": lambda text: f"{text}\t",
    "line end after": lambda text: f"{text}\n",
    "NUL after": lambda text: f"{text}\x00",
    **{f"padding of part {number}": _part_edit(number, lambda part: f"{part}=") for number in range(3)},
    **{f"full padding of part {number}": _part_edit(number, lambda part: f"{part}==") for number in range(3)},
    **{f"trailing bits of part {number}": _part_edit(number, _with_other_trailing_bits) for number in range(3)},
    **{f"other alphabet in part {number}": _part_edit(number, lambda part: f"{part}+/") for number in range(3)},
    **{f"part {number} shorter": _part_edit(number, lambda part: part[:-1]) for number in range(3)},
    **{f"part {number} empty": _part_edit(number, lambda _: "") for number in range(3)},
    **{f"part {number} of one letter": _part_edit(number, lambda _: "A") for number in range(3)},
}
SCHEMES = (
    "",
    " ",
    "Bearer",
    "bearer ",
    "BEARER ",
    "Bearer  ",
    "Bearer\t",
    "Basic ",
    "DPoP ",
    "Bearer Bearer ",
    "Bearer=",
)


def _with_scheme(scheme: str) -> Callable[[TokenDraft], TokenDraft]:
    return lambda draft: replace(draft, scheme=scheme)
