"""Load Tesseracts, differentiable components, into this process and call them.

    from tesseract_host import Tesseract

    drag = Tesseract.from_tesseract_api("tesseract_api.py")
    drag.apply({"v": [1.0, 3.0]})

Importing this package imports neither NumPy nor pydantic; `Tesseract` does when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

__all__ = ["Tesseract", "__version__"]

__version__ = "0.1.0"

if TYPE_CHECKING:
    from tesseract_host.client import Tesseract
else:

    def __getattr__(name: str) -> Any:
        if name == "Tesseract":
            from tesseract_host.client import Tesseract

            globals()[name] = Tesseract
            return Tesseract
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
