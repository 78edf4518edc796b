"""The networks and convex models that are trained, by name."""
