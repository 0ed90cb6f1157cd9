"""What `houkai recall` does, and no more: FOLDER QUESTION; the least that a command line over Chroma can cost."""

from __future__ import annotations

import sys
from pathlib import Path

from chroma_side import Chroma

if __name__ == "__main__":
    print("\n".join(Chroma(Path(sys.argv[1])).found(sys.argv[2], 5)))
