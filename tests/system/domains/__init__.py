"""A domain from outside the service, and tests that no module of the service has to name it."""
