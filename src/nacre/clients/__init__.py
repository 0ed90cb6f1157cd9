"""Installs Nacre into the settings of other programs."""
