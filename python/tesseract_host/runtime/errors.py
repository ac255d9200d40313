"""What a module can raise to say more than "failed", and asking whether to go on."""

from __future__ import annotations

from collections.abc import Callable

__all__ = [
    "Cancelled",
    "OutOfDomain",
    "RevokedArrayError",
    "check_cancelled",
    "register_out_of_domain",
]


class OutOfDomain(ValueError):
    """Not at this point, another may work: a time step too large, a parameter out of range."""


class Cancelled(Exception):
    """The caller asked to stop."""


class RevokedArrayError(RuntimeError):
    """A device array was used after the call that it was given to: keep a copy of it instead."""


out_of_domain_types: list[type[BaseException]] = [OutOfDomain]

_cancel_requested: Callable[[], bool] | None = None


def register_out_of_domain(*types: type[BaseException]) -> None:
    """Makes exceptions of these types mean the same as OutOfDomain."""
    for type_ in types:
        if not (isinstance(type_, type) and issubclass(type_, Exception)):
            raise TypeError(f"{type_!r} is no exception type")
        if type_ not in out_of_domain_types:
            out_of_domain_types.append(type_)


def set_cancel_hook(hook: Callable[[], bool] | None) -> None:
    """Sets what `check_cancelled` asks: true when the call on this thread should stop."""
    global _cancel_requested
    _cancel_requested = hook


def check_cancelled() -> None:
    """Raises Cancelled if the caller asked this call to stop; cheap enough for every iteration."""
    if _cancel_requested is not None and _cancel_requested():
        raise Cancelled("the caller asked to stop")
