"""What is asked for besides a query's text: names, types, and checks of options."""
