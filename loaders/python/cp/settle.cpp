#include "settle.h"

#include "errors.h"
#include "thread_state.h"

namespace tesseract::python {
namespace {

// The caller's memory with an owner is no matter: it lives as long as the array.
bool matters(const Argument &argument) {
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

int32_t settle_held(Instance &instance, tesseract_frame *frame, std::vector<Argument> &arguments) {
  instance.keeps_inputs = true;
  const std::string *kept = nullptr;
  for (Argument &argument : arguments) {
    if (!matters(argument)) continue;
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

}  // namespace

int32_t compare(tesseract_frame *frame, const std::vector<Argument> &arguments) {
  for (const Argument &argument : arguments) {
    if (argument.copied || checksum(*argument.tensor) == argument.checksum) continue;
    return report(frame, {TESSERACT_ERROR_COMPONENT, *argument.path,
                          "this input, which is the caller's, was written to during the call: the "
                          "module, or a library that it calls, must work on a copy of it"});
  }
  return TESSERACT_OK;
}

int32_t settle(Instance &instance, tesseract_frame *frame, std::vector<Argument> &arguments,
               bool copies) {
  for (Argument &argument : arguments) {
    if (argument.owner && !argument.copied && is_held(argument.view)) {
      keep_owner(*argument.view.exporter, *argument.owner);
    }
  }
  // Copies may be kept by a module that is known to keep them.
  if (instance.keeps_inputs && !instance.strict && copies) return TESSERACT_OK;
  if (!any_held(arguments)) return TESSERACT_OK;
  for (const bool thorough : {false, true}) {
    collect_garbage(thorough);
    if (!any_held(arguments)) return TESSERACT_OK;
  }
  return settle_held(instance, frame, arguments);
}

}  // namespace tesseract::python
