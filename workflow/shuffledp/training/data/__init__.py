"""What is trained on: data sets with checksums, generated ones, and which client holds which image."""
