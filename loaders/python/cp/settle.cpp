#include "settle.h"

#include <algorithm>

#include "device_inputs.h"
#include "errors.h"
#include "thread_state.h"

namespace tesseract::python {
namespace {

// The caller's memory with an owner is no matter: it lives as long as the array.
bool matters(const Argument &argument) {
  if (argument.on_device) return !argument.owner && is_held_on_device(argument.view.array.get());
  return (argument.borrows() || argument.copied) && is_held(argument.view);
}

bool any_held(const std::vector<Argument> &arguments) {
  for (const Argument &argument : arguments) {
    if (matters(argument)) return true;
  }
  return false;
}

bool moved(Argument &argument) {
  try {
    return move_to_own_memory(argument.view);
  } catch (const PythonError &) {
    PyErr_Clear();
  } catch (const std::bad_alloc &) {
  }
  return false;
}

void warn(Instance &instance, const std::string &text) {
  const Pause pause;
  instance.log->write(TESSERACT_LOG_WARNING, text.data(), text.size());
}

int32_t lose(Instance &instance, tesseract_frame *frame, const std::string &path) {
  instance.lost_leaf = path;
  return report(frame,
                {TESSERACT_ERROR_COMPONENT, path,
                 "the module keeps memory of this input beyond the call, in a form that can't be "
                 "given a copy (a memoryview, an array of another library): this component can't "
                 "be called again; keep a copy of the input instead"});
}

// Device arrays can't be moved: their addresses are on their way in streams.
int32_t refuse_held(Instance &instance, tesseract_frame *frame, const Argument &argument) {
  const std::string text =
      "the module keeps this device array beyond the call, itself or in an array of a library that "
      "was made of it without a copy: its memory is the caller's; keep a copy instead";
  if (instance.escapes_are_errors) {
    return report(frame, {TESSERACT_ERROR_COMPONENT, *argument.path, text});
  }
  warn(instance, "input " + *argument.path + ": " + text);
  return TESSERACT_OK;
}

int32_t settle_on_device(Instance &instance, tesseract_frame *frame,
                         std::vector<Argument> &arguments) {
  int32_t status = TESSERACT_OK;
  for (Argument &argument : arguments) {
    if (argument.on_device && matters(argument) && status == TESSERACT_OK) {
      status = refuse_held(instance, frame, argument);
    }
  }
  return status;
}

int32_t settle_held(Instance &instance, tesseract_frame *frame, std::vector<Argument> &arguments) {
  const std::string *kept = nullptr;
  for (Argument &argument : arguments) {
    if (argument.on_device || !matters(argument)) continue;
    instance.keeps_inputs = true;
    kept = argument.path;
    if (argument.copied) continue;
    if (!moved(argument)) return lose(instance, frame, *argument.path);
    frame->host->copied(frame, TESSERACT_COPY_OWNED, bytes_of(*argument.tensor));
    warn(instance, "input " + *argument.path +
                       " is kept beyond the call: it was moved to a copy, and all inputs are "
                       "copied from now on");
  }
  if (!instance.strict || !kept) return TESSERACT_OK;
  return report(frame, {TESSERACT_ERROR_COMPONENT, *kept,
                        "the module keeps this input beyond the call, which \"strict\" forbids: "
                        "keep a copy of it"});
}

// Of what the module was given, which on a device is a copy.
uint64_t checksum_now(const tesseract_frame *frame, const Argument &argument) {
  if (!argument.on_device) return checksum(*argument.tensor);
  return checksum_on_device(frame, arrays::live(argument.view.array.get()), *argument.path);
}

bool any_on_device(const std::vector<Argument> &arguments) {
  return std::any_of(arguments.begin(), arguments.end(),
                     [](const Argument &argument) { return argument.on_device; });
}

// Revokes it.  Private copies are poisoned.
void settle_device_array(const tesseract_frame *frame, const Argument &argument) {
  PyObject *array = argument.view.array.get();
  if (arrays::as_device_array(array)->tensor && argument.copied) {
    poison_on_device(frame, arrays::live(array), *argument.path);
  }
  arrays::revoke(array);
  if (argument.owner && !argument.copied && is_held_on_device(array)) {
    keep_owner_of(array, *argument.owner);
  }
}

}  // namespace

int32_t compare(tesseract_frame *frame, const std::vector<Argument> &arguments) {
  for (const Argument &argument : arguments) {
    if (argument.copied && !argument.on_device) continue;
    if (checksum_now(frame, argument) == argument.checksum) continue;
    return report(frame, {TESSERACT_ERROR_COMPONENT, *argument.path,
                          "this input, which is the caller's, was written to during the call: the "
                          "module, or a library that it calls, must work on a copy of it"});
  }
  return TESSERACT_OK;
}

int32_t settle(Instance &instance, tesseract_frame *frame, std::vector<Argument> &arguments,
               bool copies) {
  for (Argument &argument : arguments) {
    if (argument.on_device) {
      settle_device_array(frame, argument);
    } else if (argument.owner && !argument.copied && is_held(argument.view)) {
      keep_owner(*argument.view.exporter, *argument.owner);
    }
  }
  // Copies may be kept by a module that is known to keep them.
  const bool may_keep = instance.keeps_inputs && !instance.strict && copies;
  if (may_keep && !any_on_device(arguments)) return TESSERACT_OK;
  if (!any_held(arguments)) return TESSERACT_OK;
  for (const bool thorough : {false, true}) {
    collect_garbage(thorough);
    if (!any_held(arguments)) return TESSERACT_OK;
  }
  const int32_t on_device = settle_on_device(instance, frame, arguments);
  if (may_keep) return on_device;
  const int32_t on_host = settle_held(instance, frame, arguments);
  return on_device != TESSERACT_OK ? on_device : on_host;
}

}  // namespace tesseract::python
