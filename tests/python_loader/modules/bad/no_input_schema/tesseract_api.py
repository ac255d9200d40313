from pydantic import BaseModel


class OutputSchema(BaseModel):
    pass


def apply(inputs):
    return OutputSchema()
