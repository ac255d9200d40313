// NumPy's C interface, imported once whichever side of the library starts first.
#pragma once

namespace tesseract::python {

// Throws PythonError.  GIL held.
void import_numpy();

}  // namespace tesseract::python
