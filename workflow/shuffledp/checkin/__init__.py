"""Privacy amplification from clients who choose their own rounds; one module a paper or protocol."""
