"""Other projects' drivers and tools against `colonnade serve`."""
