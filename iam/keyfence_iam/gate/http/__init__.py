"""AWS's query protocol, which STS and IAM speak: forms that come in, XML that goes out."""
