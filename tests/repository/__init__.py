"""The repository itself: layering, documentation, types of the public names."""
