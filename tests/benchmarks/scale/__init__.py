"""A model of many tenants on DynamoDB's partitions: throttling and cost, by the policy for the number of shards."""
