"""The AWS of a laptop: DynamoDB engines, the gate, identity providers, demo data and the data directory."""
