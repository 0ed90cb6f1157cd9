"""`python -m ai_houkai.cli`."""

from .main import _main

_main()
