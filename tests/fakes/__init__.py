"""Stand-ins that need no network: clocks, DynamoDB in memory, STS, identity providers."""
