"""What was said or noted elsewhere becomes memories: one module for each format, and a table of them."""
