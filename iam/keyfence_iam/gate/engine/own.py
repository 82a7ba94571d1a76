"""What the gate itself asks of the engine."""

from keyfence_iam.gate.answer import Headers


def own_headers(region: str, operation: str) -> Headers:
    """Engines check no signature, but some of them read the region from it or miss its date."""
    scope = f"keyfence-gate/20120810/{region}/dynamodb/aws4_request"
    return [
        (b"content-type", b"application/x-amz-json-1.0"),
        (b"x-amz-target", f"DynamoDB_20120810.{operation}".encode()),
        (b"x-amz-date", b"20120810T000000Z"),
        (b"authorization", f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0".encode()),
    ]
