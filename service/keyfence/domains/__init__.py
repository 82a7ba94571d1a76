"""The domains: one folder for each noun of the API, with all code for the noun."""
