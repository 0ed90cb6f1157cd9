"""Archives, exports and importers."""
