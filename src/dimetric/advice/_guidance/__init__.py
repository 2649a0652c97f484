"""What follows from a comparison: learning curve, fitted model, and advice in words."""
