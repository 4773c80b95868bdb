"""What the tests of several rooms need. What one room needs is in that room."""
