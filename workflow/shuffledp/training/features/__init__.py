"""Features of colour images: what makes them, and the linear head that is trained on them."""
