#include "instance.h"

#include "call.h"
#include "errors.h"
#include "escape.h"
#include "prepared.h"
#include "start.h"
#include "support.h"
#include "thread_state.h"
#include "views.h"

namespace tesseract::python {
namespace {

Ref text_object(const tesseract_string &text) {
  const size_t length = !text.data                     ? 0
                        : text.length == TESSERACT_NTS ? std::char_traits<char>::length(text.data)
                                                       : text.length;
  return own(PyUnicode_DecodeUTF8(text.data ? text.data : "", static_cast<Py_ssize_t>(length),
                                  "surrogateescape"));
}

// The paths of a list as a tuple, appended to `paths` too.
Ref path_tuple(const tesseract_leaves *leaves, std::vector<std::string> *paths) {
  const int64_t count = leaves && leaves->count > 0 ? leaves->count : 0;
  Ref tuple = own(PyTuple_New(static_cast<Py_ssize_t>(count)));
  for (int64_t i = 0; i < count; i++) {
    Ref path = text_object(leaves->items[i].path);
    if (paths) paths->push_back(text_of(path.get()));
    PyTuple_SET_ITEM(tuple.get(), static_cast<Py_ssize_t>(i), path.release());
  }
  return tuple;
}

const char *endpoint_name(int32_t endpoint) {
  constexpr const char *names[] = {"apply", "jvp", "vjp", "jacobian", "abstract_eval"};
  if (endpoint < TESSERACT_ENDPOINT_APPLY || endpoint > TESSERACT_ENDPOINT_ABSTRACT_EVAL) {
    throw CallFailure{TESSERACT_ERROR_UNSUPPORTED, "",
                      "unknown endpoint " + std::to_string(endpoint)};
  }
  return names[endpoint - TESSERACT_ENDPOINT_APPLY];
}

int32_t describe(void *self, const char **text, uint64_t *length, tesseract_frame *) {
  const auto *instance = static_cast<Instance *>(self);
  *text = instance->description.c_str();
  *length = instance->description.size();
  return TESSERACT_OK;
}

void release(Plan &plan) {
  Py_CLEAR(plan.run);
  Py_CLEAR(plan.abstract);
  delete plan.prepared;
}

// What of a plan needs no Python; null where something does.
std::unique_ptr<Prepared> read_prepared(PyObject *made, const tesseract_signature *signature,
                                        const Plan &plan) {
  if (signature->endpoint == TESSERACT_ENDPOINT_ABSTRACT_EVAL) return nullptr;
  const Ref compiled = own(PyObject_CallMethod(made, "compiled", nullptr));
  return Prepared::read(compiled.get(), signature, plan.paths);
}

int32_t prepare(void *self, const tesseract_signature *signature, void **result,
                tesseract_frame *frame) {
  const auto *instance = static_cast<Instance *>(self);
  const Entry entry;
  if (!entry) return report_gone(frame);
  return on_thread(instance->adopted.get(), frame, [&]() -> int32_t {
    auto plan = std::make_unique<Plan>();
    const char *endpoint = endpoint_name(signature->endpoint);
    const bool seeds_by_input = signature->endpoint == TESSERACT_ENDPOINT_JVP;
    const bool seeds_by_output = signature->endpoint == TESSERACT_ENDPOINT_VJP;
    const Ref inputs = path_tuple(signature->inputs, &plan->paths);
    const Ref of = path_tuple(signature->of, seeds_by_output ? &plan->paths : nullptr);
    const Ref wrt = path_tuple(signature->wrt, seeds_by_input ? &plan->paths : nullptr);
    Ref json = signature->inputs ? text_object(signature->inputs->json) : own(PyUnicode_New(0, 0));
    if (PyUnicode_GET_LENGTH(json.get()) == 0) json = own(PyUnicode_FromString("{}"));
    const Ref made = own(PyObject_CallMethod(instance->component, "prepare", "sOOOO", endpoint,
                                             inputs.get(), of.get(), wrt.get(), json.get()));
    std::unique_ptr<Prepared> prepared = read_prepared(made.get(), signature, *plan);
    Ref run = own(PyObject_GetAttrString(made.get(), "run"));
    plan->abstract = own(PyObject_GetAttrString(made.get(), "abstract")).release();
    plan->run = run.release();
    plan->prepared = prepared.release();
    *result = plan.release();
    return TESSERACT_OK;
  });
}

// Where the interpreter has ended or is another process's, what belonged to it is left alone.
void forget(void *, void *self) {
  const std::unique_ptr<Plan> plan(static_cast<Plan *>(self));
  const Entry entry;
  if (entry) release(*plan);
}

// Logs what went wrong where there is nobody to tell.
void log_exception(Instance &instance) {
  const Ref error = take_exception();
  const std::string text = "closing failed: " + (error ? text_of(error.get()) : std::string("?"));
  const Pause pause;
  instance.log->write(TESSERACT_LOG_WARNING, text.data(), text.size());
}

void destroy(void *self) {
  std::unique_ptr<Instance> instance(static_cast<Instance *>(self));
  {
    const Entry entry;
    if (!entry) {
      for (Ref &array : instance->poisoned) array.release();
    }
    instance->poisoned.clear();  // here, since it needs the GIL
    if (entry && instance->adopted) {
      Py_CLEAR(instance->component);
      instance->adopted->drop();
      const Pause pause;
      instance->log->cut();
      return;
    }
    if (entry) {
      const Ref closed(PyObject_CallMethod(instance->component, "close", nullptr));
      if (!closed) log_exception(*instance);
      Py_CLEAR(instance->component);
      // A module and its functions refer to each other; so does what it holds, large arrays maybe.
      collect_garbage(true);
      const Pause pause;
      instance->log->cut();
      return;
    }
  }
  if (!is_forked_child()) instance->log->cut();
}

bool offers(PyObject *endpoints, const char *name) {
  const Ref text = own(PyUnicode_FromString(name));
  const int found = PySequence_Contains(endpoints, text.get());
  check(found);
  return found == 1;
}

tesseract_plugin_table make_table(PyObject *endpoints) {
  tesseract_plugin_table table{};
  table.size = sizeof table;
  table.abi = {TESSERACT_ABI_MIN, TESSERACT_ABI_MAX};
  table.destroy = destroy;
  table.describe = describe;
  table.prepare = prepare;
  table.forget = forget;
  table.apply = run_call;
  if (offers(endpoints, "jvp")) table.jvp = run_call;
  if (offers(endpoints, "vjp")) table.vjp = run_call;
  if (offers(endpoints, "jacobian")) table.jacobian = run_call;
  if (offers(endpoints, "abstract_eval")) table.abstract_eval = run_abstract;
  return table;
}

struct Options {
  Ref others;  // for the support package
  Ref live;    // key of a component that lives already, or None
};

// Those of this loader go into the instance.
Options read_options(const tesseract_string &options, Instance &instance) {
  const Ref text = text_object(options);
  const Ref parsed(PyObject_CallOneArg(support().parse_options, text.get()));
  PyObject *object = nullptr, *live = nullptr;
  int strict = 0, debug = 0;
  if (parsed && PyArg_ParseTuple(parsed.get(), "OppO", &object, &strict, &debug, &live)) {
    instance.strict = strict != 0;
    instance.debug_views = debug != 0;
    if (debug) poison_copies();
    return {Ref(Py_NewRef(object)), Ref(Py_NewRef(live))};
  }
  if (!PyErr_ExceptionMatches(PyExc_ValueError)) throw PythonError{};
  const Ref error = take_exception();
  throw CallFailure{TESSERACT_ERROR_INVALID_ARGUMENT, "",
                    error ? text_of(error.get()) : "bad options"};
}

// The component, and its description for the host.
Ref open_module(const tesseract_source &source, PyObject *options, Instance &made) {
  const Ref path = own(PyUnicode_DecodeFSDefaultAndSize(
      source.text.data, static_cast<Py_ssize_t>(source.text.length)));
  const Ref logger = log_function(made.log);
  Ref component =
      own(PyObject_CallFunctionObjArgs(support().open, path.get(), options, logger.get(), nullptr));
  const Ref description = own(PyObject_CallMethod(component.get(), "describe", nullptr));
  made.description = text_of(description.get());
  return component;
}

bool is_set(PyObject *object, const char *name) {
  const Ref value = own(PyObject_GetAttrString(object, name));
  const int truth = PyObject_IsTrue(value.get());
  check(truth);
  return truth == 1;
}

void read_device_options(PyObject *component, Instance &made) {
  const Ref devices = own(PyObject_GetAttrString(component, "devices"));
  made.stream_ordered = is_set(devices.get(), "stream_ordered");
  made.device_read_only = is_set(devices.get(), "read_only");
  made.escapes_are_errors = is_set(devices.get(), "escapes_are_errors");
}

Ref adopt_live(PyObject *key, PyObject *options, Instance &made) {
  const Ref live = own(PyObject_CallFunctionObjArgs(support().take_live, key, options, nullptr));
  const Ref description = own(PyObject_CallMethod(live.get(), "describe", nullptr));
  made.description = text_of(description.get());
  Ref component = own(PyObject_GetAttrString(live.get(), "component"));
  made.adopted = Adopted::read(live.get());
  return component;
}

}  // namespace

int32_t open(const tesseract_source *source, const tesseract_plugin_table **plugin, void **instance,
             tesseract_frame *frame) {
  const Entry entry;
  if (!entry) return report_gone(frame);
  auto log = std::make_shared<LogLink>(frame->host, frame->log);
  const int32_t status = guarded(frame, [&]() -> int32_t {
    auto made = std::make_unique<Instance>();
    made->log = log;
    const Options options = read_options(source->options, *made);
    Ref component = options.live.get() == Py_None
                        ? open_module(*source, options.others.get(), *made)
                        : adopt_live(options.live.get(), options.others.get(), *made);
    read_device_options(component.get(), *made);
    const Ref endpoints = own(PyObject_GetAttrString(component.get(), "endpoints"));
    made->table = make_table(endpoints.get());
    made->component = component.release();
    *plugin = &made->table;
    *instance = made.release();
    return TESSERACT_OK;
  });
  if (status == TESSERACT_OK) trim_memory();
  if (status != TESSERACT_OK) {
    const Pause pause;
    log->cut();
  }
  return status;
}

}  // namespace tesseract::python
