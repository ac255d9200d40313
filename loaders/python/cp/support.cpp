#include "support.h"

namespace tesseract::python {
namespace {

Support functions;

constexpr const char *kSource = R"(
import atexit, importlib, importlib.util, json, os, sys, threading, time


class Plain:
    pass


def load_support(package):
    name = "tesseract_host"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, os.path.join(package, "__init__.py"), submodule_search_locations=[package]
        )
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
    return importlib.import_module(name + ".loader")


def add_to_path(package):
    folder = os.path.dirname(os.path.abspath(package))
    if folder not in sys.path:
        sys.path.append(folder)


def parse_options(text):
    options = json.loads(text) if text else {}
    if not isinstance(options, dict):
        raise ValueError("the options must be a JSON object")
    options.pop("python", None)
    strict = pop_flag(options, "strict", False)
    debug = pop_flag(options, "debug_views", os.environ.get("TESSERACT_HOST_DEBUG_VIEWS") == "1")
    return options, strict, debug, options.pop("live", None)


def pop_flag(options, name, default):
    value = options.pop(name, default)
    if not isinstance(value, bool):
        raise ValueError(f'the option "{name}" must be true or false')
    return value


def attempt(function, *arguments):
    try:
        function(*arguments)
    except BaseException:
        pass


def stop_pools():
    # Executors have their idle threads end by functions that threading runs before it joins.
    for function in reversed(list(getattr(threading, "_threading_atexits", ()))):
        attempt(function)


def finish(seconds, joined):
    if not joined:
        end = time.monotonic() + seconds
        pools = threading.Thread(target=stop_pools, daemon=True)
        pools.start()
        pools.join(max(0.0, end - time.monotonic()))
        late = []
        for thread in threading.enumerate():
            if thread.daemon or thread in (threading.current_thread(), threading.main_thread()):
                continue
            thread.join(max(0.0, end - time.monotonic()))
            if thread.is_alive():
                late.append(thread.name)
        attempt(atexit._run_exitfuncs)
    else:
        late = []
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            attempt(stream.flush)
    return ", ".join(late)
)";

PyObject *function_of(PyObject *scope, const char *name) {
  PyObject *function = PyDict_GetItemString(scope, name);
  if (!function) {
    PyErr_Format(PyExc_AttributeError, "no %s", name);
    throw PythonError{};
  }
  return Py_NewRef(function);
}

}  // namespace

const Support &support() {
  return functions;
}

void load_support(const char *package, bool owns_process) {
  const Ref scope = own(PyDict_New());
  check(PyDict_SetItemString(scope.get(), "__builtins__", PyEval_GetBuiltins()));
  const Ref name = own(PyUnicode_FromString("tesseract_host.loader.startup"));
  check(PyDict_SetItemString(scope.get(), "__name__", name.get()));
  const Ref code = own(Py_CompileString(kSource, "<tesseract_host startup>", Py_file_input));
  const Ref done = own(PyEval_EvalCode(code.get(), scope.get(), scope.get()));

  const Ref path = own(PyUnicode_DecodeFSDefault(package));
  const Ref load(function_of(scope.get(), "load_support"));
  const Ref loader = own(PyObject_CallOneArg(load.get(), path.get()));
  if (owns_process) {
    const Ref add(function_of(scope.get(), "add_to_path"));
    own(PyObject_CallOneArg(add.get(), path.get()));
    own(PyObject_CallMethod(loader.get(), "route_warnings", nullptr));
  }
  const Ref plain(function_of(scope.get(), "Plain"));

  functions.traverse_of_python_classes = reinterpret_cast<PyTypeObject *>(plain.get())->tp_traverse;
  functions.parse_options = function_of(scope.get(), "parse_options");
  functions.finish = function_of(scope.get(), "finish");
  functions.open = own(PyObject_GetAttrString(loader.get(), "open")).release();
  functions.take_live = own(PyObject_GetAttrString(loader.get(), "take_live")).release();
  functions.classify = own(PyObject_GetAttrString(loader.get(), "classify")).release();
}

}  // namespace tesseract::python
