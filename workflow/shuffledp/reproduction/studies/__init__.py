"""Studies behind figures other than curves of bounds: grids, frontiers, accuracies over seeds, quantities."""
