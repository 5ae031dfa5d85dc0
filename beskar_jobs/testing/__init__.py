"""Public: what holds implementations to the contracts, and the real services that tests need."""
