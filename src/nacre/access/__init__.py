"""What an agent may see and change: capabilities, and the restricted view they give of a backend."""
