"""A project for the type tests: what its handlers declare is read, never imported, and generated from."""
