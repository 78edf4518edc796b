"""Features of colour images, fixed before the private training of a linear layer begins: what makes them."""
