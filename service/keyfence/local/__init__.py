"""A replacement for AWS on a laptop: DynamoDB engines, the gate, token issuers, demo data and the data directory."""
