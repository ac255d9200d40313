class Abandoned(BaseException):
    """No Exception, so that nobody catches it by accident."""


raise Abandoned("the licence server left")
