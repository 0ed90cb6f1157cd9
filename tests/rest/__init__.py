"""The REST API as data, checked without a server."""
