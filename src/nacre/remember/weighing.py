"""Weighs the evidence for a conflict into one score: the logarithm of its odds where half of all pairs are one."""

from __future__ import annotations

from collections.abc import Mapping

# Fitted by `benchmarks/fit_conflicts.py` on the development and training pairs of benchmarks/conflict_pairs, ten folds;
# benchmarks/CONFLICTS.md says what they give.
INTERCEPT = 1.05
WEIGHTS: Mapping[str, float] = {
    "far": -5.50,
    "near": -4.26,
    "words of both alone": -1.70,
    "parallel and adding up": 0.65,
    "one place": 0.76,
    "only the topic": 0.26,
    "uncovered": -4.34,
    "other subjects": -0.13,
    "other head": 0.62,
    "only values differ": 0.03,
    "other event": -1.14,
    "values agree": -1.47,
    "turned": 0.21,
    "odd denials": 0.20,
    "even denials": -0.60,
    "denied in both": -2.24,
    "denied otherwise": -1.39,
    "opposites": 0.49,
    "opposites denied": -0.54,
    "exchanged": 1.53,
    "rivals": 0.71,
    "rival subjects": -3.28,
    "change told": 0.69,
    "change told in both": -0.13,
    "change told before": -0.48,
    "open before": 0.45,
    "settled now": 0.21,
    "exception": -1.06,
    "both past": 0.01,
    "no exception now": -0.00,
    "no exception in both": -0.13,
    "sole now": 0.86,
    "comparing": -0.57,
    "permitting before": 0.03,
    "demanding now": -0.09,
    "news": 0.46,
    "rule of change": 0.70,
    "rule of denials": 0.80,
    "rule of opposites": 1.34,
    "rule of values": 0.69,
    "rule of substitution": 0.11,
}
NOTED = 0.32  # from here nine of ten are conflicts, out of fold
SURE = 1.62  # half a point above every paraphrase that a rule took for a conflict, out of fold
# Without one of these nothing is noted: two texts of which nothing is known are no conflict.
SPEAKING_FOR = (
    "only values differ",
    "turned",
    "odd denials",
    "opposites",
    "exchanged",
    "rivals",
    "change told",
    "open before",
    "settled now",
    "no exception now",
    "no exception in both",
    "sole now",
    "permitting before",
    "demanding now",
    "news",
)
BORNE_OUT = -0.75  # a rule's verdict falls below it; higher, and rules that are right are overruled as often


def score(told: Mapping[str, float]) -> float:
    return INTERCEPT + sum(WEIGHTS[name] * value for name, value in told.items() if value)
