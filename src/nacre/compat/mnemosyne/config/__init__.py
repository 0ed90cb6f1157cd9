"""Where Mnemosyne's settings come from."""
