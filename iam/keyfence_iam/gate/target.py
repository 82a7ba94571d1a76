"""The X-Amz-Target of DynamoDB's JSON protocol: which operation is called."""

import re

STREAMS = frozenset({"ListStreams", "DescribeStream", "GetShardIterator", "GetRecords"})
CONTENT_TYPE = re.compile(rb"application/(?:x-amz-json-1\.0|json)\s*(?:;\s*charset=utf-8)?", re.IGNORECASE)
_TARGET = re.compile(rb"DynamoDB(Streams)?_20120810\.([A-Za-z]{1,64})")


def operation_of(target: bytes) -> str | None:
    """None for what neither service could know. A name that is new to us is an operation, to be refused as such."""
    found = _TARGET.fullmatch(target)
    if found is None:
        return None
    operation = found[2].decode()
    return operation if (found[1] is not None) == (operation in STREAMS) else None
