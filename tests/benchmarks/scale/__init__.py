"""A model of many tenants over DynamoDB's partitions: what is throttled and what it costs, by how slots are given."""
