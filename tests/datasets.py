"""Tiny datasets in the official formats of the suites, with words of our own."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

Json = Any

LOCOMO: Json = [
    {
        "sample_id": "conv-x",
        "conversation": {
            "speaker_a": "Oda",
            "speaker_b": "Wim",
            "session_1_date_time": "9:05 am on 3 March, 2024",
            "session_1": [
                {"speaker": "Oda", "dia_id": "D1:1", "text": "My kayak has a leak near the rudder."},
                {"speaker": "Wim", "dia_id": "D1:2", "text": "Patch it with epoxy resin."},
                {"speaker": "Oda", "dia_id": "D1:3", "text": " ", "img_url": ["x"]},
            ],
            "session_2_date_time": "12:30 pm on 10 March, 2024",
            "session_2": [
                {"speaker": "Oda", "dia_id": "D2:1", "text": "The epoxy held, I paddled to Gull Island."},
                {"speaker": "Wim", "dia_id": "D2:2", "text": "I am learning the theremin."},
            ],
        },
        "qa": [
            {"question": "What leaks?", "answer": "a kayak", "evidence": ["D1:1"], "category": 4},
            {"question": "What did the epoxy patch?", "answer": "", "evidence": ["D1:2; D2:1"], "category": 1},
            {"question": "When did Oda paddle?", "answer": "", "evidence": ["D:2:1", "D9:9"], "category": 2},
            {"question": "Which evidence is lost?", "answer": "", "evidence": ["D7:7", ""], "category": 3},
            {"question": "What does Wim kayak?", "answer": "", "evidence": ["D1:1"], "category": 5},
        ],
    },
    {
        "sample_id": "conv-y",
        "conversation": {
            "session_1": [{"speaker": "Ines", "dia_id": "D1:1", "text": "The bakery opens at six."}],
        },
        "qa": [{"question": "When does the bakery open?", "answer": "six", "evidence": ["D1:1"], "category": 4}],
    },
]


def said(*texts: str, answering: int | None = None) -> list[Json]:
    """Turns of the user and the assistant in turn, one of them marked as LongMemEval does."""
    roles = ("user", "assistant")
    return [
        {"role": roles[place % 2], "content": text, "has_answer": place == answering}
        for place, text in enumerate(texts)
    ]


LONGMEMEVAL: Json = [
    {
        "question_id": "q1",
        "question_type": "single-session-user",
        "question": "Which instrument do I tune?",
        "answer": "a harp",
        "question_date": "2024/05/02 (Thu) 10:00",
        "haystack_dates": ["2024/04/01 (Mon) 09:00", "2024/04/02 (Tue) 09:00"],
        "haystack_session_ids": ["answer_harp_1", "answer_soup_1"],
        "haystack_sessions": [
            said("I tune my harp on Sundays.", "A fine habit.", answering=0),
            said("Leek soup again.", "", "It needs nutmeg."),
        ],
        "answer_session_ids": ["answer_harp_1"],
    },
    {
        "question_id": "q2",
        "question_type": "multi-session",
        "question": "What do I cook with nutmeg, and what with saffron?",
        "answer": "soup and rice",
        "question_date": "2024/05/03 (Fri) 10:00",
        "haystack_dates": ["2024/04/02 (Tue) 09:00", "2024/04/04 (Thu) 09:00"],
        "haystack_session_ids": ["answer_soup_1", "answer_rice_1"],
        "haystack_sessions": [
            said("Leek soup again.", "", "It needs nutmeg.", answering=2),
            said("Saffron rice tonight.", "Enjoy.", answering=0),
        ],
        "answer_session_ids": ["answer_soup_1", "answer_rice_1"],
    },
    {
        "question_id": "q3_abs",
        "question_type": "single-session-user",
        "question": "Which bicycle did I buy?",
        "answer": "never said",
        "question_date": "2024/05/04 (Sat) 10:00",
        "haystack_dates": ["2024/04/04 (Thu) 09:00"],
        "haystack_session_ids": ["answer_rice_1"],
        "haystack_sessions": [said("Saffron rice tonight.", "Enjoy.")],
        "answer_session_ids": ["answer_rice_1"],
    },
]

BEAM: Json = [
    {
        "id": "7",
        "chat": [
            {
                "batch_number": 1,
                "time_anchor": None,
                "turns": [
                    [
                        {
                            "id": 0,
                            "role": "user",
                            "content": "Sketch a lighthouse. ->-> 1,1",
                            "time_anchor": "May-03-2024",
                        },
                        {"id": 1, "role": "assistant", "content": "A tower on a rock."},
                    ],
                    [{"id": 2, "role": "user", "content": "Paint it in ochre. ->-> 1,2"}],
                ],
            },
            {"batch_number": 2, "turns": [[{"id": 3, "role": "user", "content": "Now paint it in teal."}]]},
        ],
        "probing_questions": {
            "knowledge_update": [
                {"question": "Which paint?", "source_chat_ids": {"original_info": [2], "updated_info": [[3]]}}
            ],
            "information_extraction": [
                {"question": "What was sketched?", "source_chat_ids": [0]},
                {"question": "What is nowhere?", "source_chat_ids": [99]},
            ],
            "abstention": [{"question": "Who keeps the lighthouse?"}],
        },
    }
]


def written(folder: Path, content: Json, *, zipped: bool = False) -> Path:
    file = folder / ("data.json.gz" if zipped else "data.json")
    raw = json.dumps(content).encode()
    file.write_bytes(gzip.compress(raw) if zipped else raw)
    return file
