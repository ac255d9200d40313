NAME = "two"
