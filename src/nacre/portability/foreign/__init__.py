"""What other memories keep, read as the rows of an import; one module a source, and no source is changed."""
