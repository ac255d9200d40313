from pydantic import BaseModel

InputSchema = {"x": float}


class OutputSchema(BaseModel):
    pass


def apply(inputs):
    return OutputSchema()
