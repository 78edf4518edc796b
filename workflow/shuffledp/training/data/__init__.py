"""The data of training: data sets with checksums, generated ones, and which client holds which image."""
