"""The published errors, each a `MemoryError`, and the translation of our errors into them."""

from collections.abc import Iterator
from contextlib import contextmanager

from nacre import errors


class MemoryError(Exception): ...


class ExperienceNotFoundError(MemoryError): ...


class InvalidExperienceError(MemoryError): ...


class MemoryQuotaExceededError(MemoryError): ...


class SecurityViolationError(MemoryError): ...


class QueryCostExceededError(MemoryError): ...


ERROR_TYPES: dict[type[errors.NacreError], type[Exception]] = {  # the narrower kind first
    errors.InvalidInput: InvalidExperienceError,
    errors.QuotaExceeded: MemoryQuotaExceededError,
    errors.QueryCostExceeded: QueryCostExceededError,
    errors.AccessDenied: SecurityViolationError,
}


@contextmanager
def translate_errors() -> Iterator[None]:
    """A value of the wrong kind stays a `TypeError`."""
    try:
        yield
    except errors.WrongType:
        raise
    except tuple(ERROR_TYPES) as error:
        raise next(theirs for ours, theirs in ERROR_TYPES.items() if isinstance(error, ours))(str(error)) from error
