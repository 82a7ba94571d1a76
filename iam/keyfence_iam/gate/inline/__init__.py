"""The local IAM: the inline policies of roles, put, read and deleted while sessions live."""
