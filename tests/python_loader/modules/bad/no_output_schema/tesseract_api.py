from pydantic import BaseModel


class InputSchema(BaseModel):
    pass


def apply(inputs):
    return {}
