"""The DynamoDB table: keys, entities, access patterns, reads, writes and cursors."""
