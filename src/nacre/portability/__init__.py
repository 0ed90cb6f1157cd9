"""Takes memories out of a store and brings them in: formats that other programs read."""
