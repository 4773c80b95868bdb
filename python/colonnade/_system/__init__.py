"""What differs between operating systems. No other module of the package asks on which one it runs."""
