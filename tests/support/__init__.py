"""What the tests of several packages need. What one package needs is in that package."""
