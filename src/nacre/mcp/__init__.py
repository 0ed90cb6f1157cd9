"""The door for agents that speak the Model Context Protocol."""
