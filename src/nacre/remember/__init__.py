"""The remember path: validate, guard, suggest, chunk and embed; conflicts and commit follow."""
