"""Tells which Python runs it."""

import sys

from pydantic import BaseModel


class InputSchema(BaseModel):
    pass


class OutputSchema(BaseModel):
    prefix: str
    path: list[str]


def apply(inputs: InputSchema) -> OutputSchema:
    return OutputSchema(prefix=sys.prefix, path=sys.path)
