"""The door for clients that call a command at certain moments of a conversation."""
