"""Cross-encoders for tests: real ONNX graphs of a few nodes that count the words two texts share."""

from __future__ import annotations

import json
from pathlib import Path

import onnx.parser

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = "the a cat dog sat on mat market fell Cat stock , . ! ##s é".split()
THRESHOLD = 1.5  # shared words above it make a pair more likely relevant than not

SHARED_WORDS = """
    shared (KIND[n, s] input_ids, KIND[n, s] attention_mask, KIND[n, s] token_type_ids) => (float[n, WIDTH] logits)
    <int64[1] first = {1}, int64[1] second = {2}, int64 last_special = {4}, float one = {1}, float threshold = {1.5}> {
        ids = Cast <to = 7> (input_ids)
        worded = Greater (ids, last_special)
        plain = Cast <to = 1> (worded)
        read = Cast <to = 1> (attention_mask)
        counted = Mul (plain, read)
        of_text = Cast <to = 1> (token_type_ids)
        of_query = Sub (one, of_text)
        query = Mul (counted, of_query)
        text = Mul (counted, of_text)
        rows = Unsqueeze (ids, second)
        columns = Unsqueeze (ids, first)
        same = Equal (rows, columns)
        matches = Cast <to = 1> (same)
        query_rows = Unsqueeze (query, second)
        text_columns = Unsqueeze (text, first)
        matched = Mul (matches, query_rows)
        both = Mul (matched, text_columns)
        by_word = ReduceMax <axes = [2], keepdims = 0> (both)
        total = ReduceSum (by_word, first)
        logit = Sub (total, threshold)
        ENDING
    }
"""
ENDINGS = {1: "logits = Identity (logit)", 2: "other = Neg (logit)\n logits = Concat <axis = 1> (other, logit)"}
HEADER = '<ir_version: 8, opset_import: ["": 17]>'


def write_graph(file: Path, graph: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(onnx.parser.parse_model(HEADER + graph).SerializeToString())


def shared_words(*, classes: int = 1, kind: str = "int64") -> str:
    return SHARED_WORDS.replace("KIND", kind).replace("WIDTH", str(classes)).replace("ENDING", ENDINGS[classes])


def bert_tokenizer(*, cased: bool = False) -> dict[str, object]:
    def special(name: str, segment: int) -> dict[str, object]:
        return {"SpecialToken": {"id": name, "type_id": segment}}

    def sequence(name: str, segment: int) -> dict[str, object]:
        return {"Sequence": {"id": name, "type_id": segment}}

    vocabulary = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
    plain = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    alone = [special("[CLS]", 0), sequence("A", 0), special("[SEP]", 0)]
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [{"id": vocabulary[name], "content": name, **plain} for name in SPECIAL],
        "normalizer": {
            "type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": not cased,
        },
        "pre_tokenizer": {"type": "BertPreTokenizer"},
        "post_processor": {
            "type": "TemplateProcessing",
            "single": alone,
            "pair": [*alone, sequence("B", 1), special("[SEP]", 1)],
            "special_tokens": {
                name: {"id": name, "ids": [vocabulary[name]], "tokens": [name]} for name in ("[CLS]", "[SEP]")
            },
        },
        "decoder": None,
        "model": {
            "type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
            "max_input_chars_per_word": 100, "vocab": vocabulary,
        },
    }  # fmt: skip


def whole_word_tokenizer() -> dict[str, object]:
    """One that is not BERT's, so that it takes the `tokenizers` library."""
    bert = bert_tokenizer()
    vocabulary = bert["model"]["vocab"]  # type: ignore[index]
    return bert | {"model": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocabulary}}


def write_cross_encoder(
    directory: Path, graph: str | None = None, *, tokenizer: dict[str, object] | None = None, at: str = "model.onnx"
) -> Path:
    write_graph(directory / at, graph or shared_words())
    (directory / "tokenizer.json").write_text(json.dumps(tokenizer or bert_tokenizer()), encoding="utf-8")
    return directory
