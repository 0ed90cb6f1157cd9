"""Counts requests for Prometheus, and logs a line of JSON for each: never a text, a question or a token."""

from __future__ import annotations

import json
import logging
import time
from collections import Counter
from collections.abc import Iterator

from nacre import __version__
from nacre.files import ThreadLock

log = logging.getLogger("nacre.server")

METRICS = "/metrics"
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # seconds


class Metrics:
    def __init__(self) -> None:
        self._lock = ThreadLock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._slower: Counter[tuple[str, float]] = Counter()
        self._seconds: Counter[str] = Counter()
        self._times: Counter[str] = Counter()
        self.running = 0
        self.started = time.time()

    def count(self, method: str, route: str, status: int, seconds: float) -> None:
        with self._lock:
            self._requests[method, route, status] += 1
            self._times[route] += 1
            self._seconds[route] += seconds  # type: ignore[assignment]
            for limit in BUCKETS:
                if seconds <= limit:
                    self._slower[route, limit] += 1

    def text(self) -> str:
        with self._lock:
            return "\n".join((*self._lines(), ""))

    def _lines(self) -> Iterator[str]:
        yield "# HELP nacre_info The version of the server."
        yield "# TYPE nacre_info gauge"
        yield f'nacre_info{{version="{__version__}"}} 1'
        yield "# HELP nacre_start_time_seconds When this instance was started."
        yield "# TYPE nacre_start_time_seconds gauge"
        yield f"nacre_start_time_seconds {self.started:.3f}"
        yield "# HELP nacre_requests_running Requests that are being answered."
        yield "# TYPE nacre_requests_running gauge"
        yield f"nacre_requests_running {self.running}"
        yield "# HELP nacre_requests_total Requests that were answered."
        yield "# TYPE nacre_requests_total counter"
        for (method, route, status), count in sorted(self._requests.items()):
            yield f'nacre_requests_total{{method="{method}",route="{route}",status="{status}"}} {count}'
        yield "# HELP nacre_request_seconds How long requests took."
        yield "# TYPE nacre_request_seconds histogram"
        for route, count in sorted(self._times.items()):
            for limit in BUCKETS:
                yield f'nacre_request_seconds_bucket{{route="{route}",le="{limit:g}"}} {self._slower[route, limit]}'
            yield f'nacre_request_seconds_bucket{{route="{route}",le="+Inf"}} {count}'
            yield f'nacre_request_seconds_sum{{route="{route}"}} {self._seconds[route]:.6f}'
            yield f'nacre_request_seconds_count{{route="{route}"}} {count}'


def log_request(**facts: object) -> None:
    log.info("%s", json.dumps({"at": round(time.time(), 3), **facts}, ensure_ascii=True, separators=(",", ":")))
