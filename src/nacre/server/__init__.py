"""`nacre serve`: the REST API and MCP for many users over any store, with tokens, roles and limits."""
