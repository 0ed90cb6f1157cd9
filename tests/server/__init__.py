"""The server: real processes on free ports of this machine."""
