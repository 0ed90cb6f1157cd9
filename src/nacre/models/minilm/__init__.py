"""all-MiniLM-L6-v2 on onnxruntime: downloaded and converted once, then used locally."""

from __future__ import annotations

from nacre.models.minilm.embedder import MiniLM as MiniLM
