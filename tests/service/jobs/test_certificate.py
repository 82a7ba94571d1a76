"""A certificate is valid only for its key, and only while nobody has changed it."""

import base64
from pathlib import Path

import jwt
import orjson
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from keyfence.errors import BadInput, Conflict
from keyfence.jobs.offboard.certificate import (
    CertificateSigner,
    CertificateVerifier,
    parse_signer,
    parse_verifier,
    verify_certificate,
)
from keyfence.local.data_directory import signing_key
from tests.service.jobs.sample_export import OTHER, SIGNER, certified


@pytest.fixture
def text(tmp_path: Path) -> bytes:
    certified(tmp_path)
    return (tmp_path / "certificate").read_bytes()


def test_a_certificate_is_rejected_by_the_verifier_of_another_key(text: bytes) -> None:
    with pytest.raises(BadInput, match="was not signed with the key"):
        verify_certificate(text, OTHER.verifier)


def test_changed_readable_claims_are_rejected(text: bytes) -> None:
    read = orjson.loads(text)
    read["claims"]["purged"] = 9
    with pytest.raises(Conflict, match="differ from the signed claims"):
        verify_certificate(orjson.dumps(read), SIGNER.verifier)


def test_claims_that_are_changed_in_both_places_are_rejected(text: bytes) -> None:
    read = orjson.loads(text)
    read["claims"]["purged"] = 9
    head, _, signature = read["signed"].split(".")
    body = base64.urlsafe_b64encode(orjson.dumps(read["claims"])).decode().rstrip("=")
    read["signed"] = f"{head}.{body}.{signature}"
    with pytest.raises(BadInput, match="was not signed"):
        verify_certificate(orjson.dumps(read), SIGNER.verifier)


def test_a_certificate_with_a_duplicate_name_is_rejected(text: bytes) -> None:
    doubled = text.replace(b'"purged":', b'"purged": 9, "purged":')
    assert doubled != text
    with pytest.raises(BadInput, match="not a certificate"):
        verify_certificate(doubled, SIGNER.verifier)


def test_a_certificate_with_an_unsigned_extra_field_is_rejected(text: bytes) -> None:
    with pytest.raises(BadInput, match="not a certificate"):
        verify_certificate(orjson.dumps({**orjson.loads(text), "remark": "all is well"}), SIGNER.verifier)


def test_a_number_in_another_notation_than_the_signed_one_is_rejected(text: bytes) -> None:
    read = orjson.loads(text)
    read["claims"]["purged"] = float(read["claims"]["purged"])
    with pytest.raises(Conflict, match="differ from the signed claims"):
        verify_certificate(orjson.dumps(read), SIGNER.verifier)


def test_other_white_space_does_not_change_the_verification(text: bytes) -> None:
    assert verify_certificate(orjson.dumps(orjson.loads(text)), SIGNER.verifier) == verify_certificate(
        text, SIGNER.verifier
    )


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_signatures_of_other_algorithms_are_rejected(text: bytes, algorithm: str) -> None:
    read = orjson.loads(text)
    key = "" if algorithm == "none" else "public-key-as-a-secret-of-32-bytes"
    read["signed"] = jwt.encode(read["claims"], key, algorithm=algorithm)
    with pytest.raises(BadInput, match="was not signed"):
        verify_certificate(orjson.dumps(read), SIGNER.verifier)


@pytest.mark.parametrize("junk", [b"", b"null", b"[]", b"{}", b'{"claims":{}}', b'{"claims":{},"signed":1}', b"\xff"])
def test_a_document_that_is_no_certificate_is_bad_input(junk: bytes) -> None:
    with pytest.raises(BadInput):
        verify_certificate(junk, SIGNER.verifier)


def test_the_same_claims_always_give_the_same_certificate(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    certified(tmp_path / "again")
    assert (tmp_path / "again" / "certificate").read_bytes() == text
    assert jwt.get_unverified_header(orjson.loads(text)["signed"])["kid"] == SIGNER.verifier.kid


def test_keys_are_read_from_pem_and_from_base64() -> None:
    raw = SIGNER.private_key.private_bytes_raw()
    pem = SIGNER.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    for spelled in (pem, base64.urlsafe_b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")):
        assert parse_signer(spelled).verifier.kid == SIGNER.verifier.kid
    public = SIGNER.verifier.public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for spelled in (public, SIGNER.verifier.public_key_text):
        assert parse_verifier(spelled).kid == SIGNER.verifier.kid


def test_a_key_that_is_not_ed25519_is_bad_input() -> None:
    curve = ec.generate_private_key(ec.SECP256R1())
    private = curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = curve.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for bad in (private, "", "short", "!" * 43, base64.urlsafe_b64encode(b"x" * 31).decode()):
        with pytest.raises(BadInput):
            parse_signer(bad)
    for bad in (public, private, "", "short"):
        with pytest.raises(BadInput):
            parse_verifier(bad)


def test_the_development_key_stays_the_same_and_has_a_kid_with_a_prefix(tmp_path: Path) -> None:
    made = parse_signer(signing_key(tmp_path))
    assert made.verifier.kid == parse_signer(signing_key(tmp_path)).verifier.kid
    assert made.verifier.kid.startswith("dev-")
    assert isinstance(made, CertificateSigner)
    assert CertificateVerifier(made.private_key.public_key()).kid == made.verifier.kid.removeprefix("dev-")
    assert Ed25519PrivateKey.from_private_bytes(made.private_key.private_bytes_raw())
