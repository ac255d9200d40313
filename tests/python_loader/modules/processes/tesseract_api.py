"""Leaves work to processes of its own."""

import multiprocessing

from helper import square
from pydantic import BaseModel


class InputSchema(BaseModel):
    numbers: list[int]
    method: str


class OutputSchema(BaseModel):
    squares: list[int]
    cubes: list[int]


def cube(number: int) -> int:
    return number * square(number)


def apply(inputs: InputSchema) -> OutputSchema:
    context = multiprocessing.get_context(inputs.method)
    with context.Pool(2) as pool:
        squares = pool.map_async(square, inputs.numbers).get(50)
        cubes = pool.map_async(cube, inputs.numbers).get(50)
    return OutputSchema(squares=squares, cubes=cubes)
