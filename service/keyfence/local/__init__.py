"""The local AWS: engines, the development issuer and where their files are kept."""
