"""A certificate is believed by whoever has the key, as long as nobody has touched it."""

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


def test_another_key_does_not_vouch_for_it(text: bytes) -> None:
    with pytest.raises(BadInput, match="was not signed with the key"):
        verify_certificate(text, OTHER.verifier)


def test_what_it_shows_has_to_be_what_was_signed(text: bytes) -> None:
    read = orjson.loads(text)
    read["claims"]["purged"] = 9
    with pytest.raises(Conflict, match="differ from the signed claims"):
        verify_certificate(orjson.dumps(read), SIGNER.verifier)


def test_what_was_signed_cannot_be_changed_with_what_it_shows(text: bytes) -> None:
    read = orjson.loads(text)
    read["claims"]["purged"] = 9
    head, _, signature = read["signed"].split(".")
    body = base64.urlsafe_b64encode(orjson.dumps(read["claims"])).decode().rstrip("=")
    read["signed"] = f"{head}.{body}.{signature}"
    with pytest.raises(BadInput, match="was not signed"):
        verify_certificate(orjson.dumps(read), SIGNER.verifier)


def test_a_name_that_stands_there_twice_is_not_believed(text: bytes) -> None:
    doubled = text.replace(b'"purged":', b'"purged": 9, "purged":')
    assert doubled != text
    with pytest.raises(BadInput, match="not a certificate"):
        verify_certificate(doubled, SIGNER.verifier)


def test_nothing_stands_beside_what_was_signed(text: bytes) -> None:
    with pytest.raises(BadInput, match="not a certificate"):
        verify_certificate(orjson.dumps({**orjson.loads(text), "remark": "all is well"}), SIGNER.verifier)


def test_a_number_is_spelled_as_it_was_signed(text: bytes) -> None:
    read = orjson.loads(text)
    read["claims"]["purged"] = float(read["claims"]["purged"])
    with pytest.raises(Conflict, match="differ from the signed claims"):
        verify_certificate(orjson.dumps(read), SIGNER.verifier)


def test_it_may_be_laid_out_in_another_way(text: bytes) -> None:
    assert verify_certificate(orjson.dumps(orjson.loads(text)), SIGNER.verifier) == verify_certificate(
        text, SIGNER.verifier
    )


@pytest.mark.parametrize("algorithm", ["none", "HS256"])
def test_no_other_algorithm_is_taken_for_a_signature(text: bytes, algorithm: str) -> None:
    read = orjson.loads(text)
    key = "" if algorithm == "none" else "public-key-as-a-secret-of-32-bytes"
    read["signed"] = jwt.encode(read["claims"], key, algorithm=algorithm)
    with pytest.raises(BadInput, match="was not signed"):
        verify_certificate(orjson.dumps(read), SIGNER.verifier)


@pytest.mark.parametrize("junk", [b"", b"null", b"[]", b"{}", b'{"claims":{}}', b'{"claims":{},"signed":1}', b"\xff"])
def test_what_is_no_certificate_is_said_to_be_none(junk: bytes) -> None:
    with pytest.raises(BadInput):
        verify_certificate(junk, SIGNER.verifier)


def test_the_same_claims_are_signed_the_same(text: bytes, tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    certified(tmp_path / "again")
    assert (tmp_path / "again" / "certificate").read_bytes() == text
    assert jwt.get_unverified_header(orjson.loads(text)["signed"])["kid"] == SIGNER.verifier.kid


def test_a_key_is_read_in_every_spelling() -> None:
    raw = SIGNER.private_key.private_bytes_raw()
    pem = SIGNER.private_key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    for spelled in (pem, base64.urlsafe_b64encode(raw).decode(), base64.urlsafe_b64encode(raw).decode().rstrip("=")):
        assert parse_signer(spelled).verifier.kid == SIGNER.verifier.kid
    public = SIGNER.verifier.public_key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for spelled in (public, SIGNER.verifier.text):
        assert parse_verifier(spelled).kid == SIGNER.verifier.kid


def test_what_is_no_ed25519_key_is_refused() -> None:
    curve = ec.generate_private_key(ec.SECP256R1())
    private = curve.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    public = curve.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo).decode()
    for bad in (private, "", "short", "!" * 43, base64.urlsafe_b64encode(b"x" * 31).decode()):
        with pytest.raises(BadInput):
            parse_signer(bad)
    for bad in (public, private, "", "short"):
        with pytest.raises(BadInput):
            parse_verifier(bad)


def test_the_local_key_is_kept_and_shows_in_what_it_signs(tmp_path: Path) -> None:
    made = parse_signer(signing_key(tmp_path))
    assert made.verifier.kid == parse_signer(signing_key(tmp_path)).verifier.kid
    assert made.verifier.kid.startswith("dev-")
    assert isinstance(made, CertificateSigner)
    assert CertificateVerifier(made.private_key.public_key()).kid == made.verifier.kid.removeprefix("dev-")
    assert Ed25519PrivateKey.from_private_bytes(made.private_key.private_bytes_raw())
