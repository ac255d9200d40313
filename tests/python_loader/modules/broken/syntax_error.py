def apply(inputs:
