"""A function beside the module."""


def square(number: int) -> int:
    return number * number
