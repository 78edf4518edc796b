"""What figures show beside curves of bounds: grids, frontiers, accuracies over seeds, quantities."""
