"""Privacy amplification from clients who choose their own rounds: theorems, a paper or protocol a module."""
