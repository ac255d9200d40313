// One opened module, and its prepared calls.
#pragma once

#include <tesseract_host/loader.h>

#include <array>
#include <memory>
#include <string>
#include <vector>

#include "adopted.h"
#include "log.h"
#include "reference.h"

namespace tesseract::python {

// Everything here is read and written with the GIL held.
struct Instance {
  tesseract_plugin_table table{};  // null where the module has no such endpoint
  std::shared_ptr<LogLink> log;
  PyObject *component = nullptr;  // tesseract_host.loader.Component
  // Not null: the component is a Python client's, which closes it.
  std::unique_ptr<Adopted> adopted;
  std::string description;
  bool strict = false;       // an input kept beyond a call is an error
  bool debug_views = false;  // inputs are compared after a call with what they were before it

  // Of arrays on devices.
  bool stream_ordered = false;    // the module enqueues its work on the call's stream
  bool device_read_only = false;  // what __cuda_array_interface__ says
  bool escapes_are_errors = true;
  // Private copies of the last call's inputs, poisoned; where inputs are compared.
  std::vector<Ref> poisoned;

  // What is known of how the module treats its inputs; see call.cpp.
  std::array<bool, TESSERACT_ENDPOINT_ABSTRACT_EVAL + 1> called{};  // by endpoint
  bool keeps_inputs = false;
  std::string lost_leaf;  // not empty: something reads this input's memory, which is the caller's
};

class Prepared;

struct Plan {
  PyObject *run = nullptr;  // bound methods of tesseract_host.loader.Plan
  PyObject *abstract = nullptr;
  std::vector<std::string> paths;  // of the inputs, then of the seeds
  Prepared *prepared = nullptr;    // null: every call is Plan.run's
  bool proven = false;             // by a call of Plan.run that succeeded
};

// PythonRuntime's open.
int32_t open(const tesseract_source *source, const tesseract_plugin_table **plugin, void **instance,
             tesseract_frame *frame);

}  // namespace tesseract::python
