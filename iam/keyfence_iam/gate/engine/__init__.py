"""The DynamoDB engine behind the gate: connections to it, and the gate's own reads."""
