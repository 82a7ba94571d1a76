"""PartiQL statements read exactly."""
