"""Print what a loader for this interpreter is built with: its tag and two header folders."""

import os
import sys
import sysconfig


def main() -> str | None:
    """Print the three lines, or return what is missing."""
    include = sysconfig.get_path("include")
    if not os.path.isfile(os.path.join(include, "Python.h")):
        return f"{include}/Python.h is missing: install the headers of this Python"
    try:
        import numpy
    except ImportError:
        return f"numpy is missing: run {sys.executable} -m pip install 'numpy>=2'"
    if int(numpy.__version__.split(".")[0]) < 2:
        return f"numpy {numpy.__version__} is too old to build with: 2 or later is needed"
    free_threaded = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    print("cp{}{}".format(*sys.version_info[:2]) + free_threaded)
    print(include)
    print(numpy.get_include())
    return None


sys.exit(main())
