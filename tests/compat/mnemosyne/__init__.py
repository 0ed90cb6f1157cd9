"""Mnemosyne's behaviour, item by item, through its own module paths."""
