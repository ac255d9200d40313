"""Uses a helper module whose name another module uses as well, at import and in calls."""

import helper
from pydantic import BaseModel

AT_IMPORT = helper.NAME


class InputSchema(BaseModel):
    pass


class OutputSchema(BaseModel):
    at_import: str
    in_call: str


def apply(inputs: InputSchema) -> OutputSchema:
    import helper

    return OutputSchema(at_import=AT_IMPORT, in_call=helper.NAME)
