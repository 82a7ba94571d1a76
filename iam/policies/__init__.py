"""The policies of every role, as functions of a deployment."""
