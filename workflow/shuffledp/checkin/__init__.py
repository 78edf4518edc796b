"""Privacy amplification from clients who choose their own rounds: theorems, one module a paper or
protocol."""
