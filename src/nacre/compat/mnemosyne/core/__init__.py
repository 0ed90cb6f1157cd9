"""Mnemosyne's values and its consolidation."""
