"""all-MiniLM-L6-v2 on onnxruntime: obtained once from the package index, converted once, then local for ever."""

from __future__ import annotations

from nacre.models.minilm.embedder import MiniLM as MiniLM
