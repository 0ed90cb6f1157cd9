"""The REST API as data: the table of its endpoints, and its values as JSON. The server and the client both read it."""
