"""What figures are drawn of beside curves of bounds: grids, frontiers, accuracies over seeds, quantities."""
