"""What the shells of scheduler, worker and client share: the real clock, identities, the connection of a role."""
