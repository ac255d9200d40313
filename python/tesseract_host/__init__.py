"""Load Tesseracts, differentiable components, into this process and call them.

Importing this package imports neither NumPy nor pydantic.
"""

from __future__ import annotations

__all__ = ["__version__"]

__version__ = "0.1.0"
