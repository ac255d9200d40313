#include "state.h"

#include <structmember.h>

#include <cstddef>

#include "thread_log.h"

namespace tesseract::python::engine {
namespace {

PyTypeObject *state_type = nullptr;

PyMemberDef members[] = {
    {"surround", T_BOOL, offsetof(State, surround), 0, "Calls run inside of `calls.running`."},
    {"unfinished", T_BOOL, offsetof(State, unfinished), 0, "Some line has no end yet."},
    {nullptr, 0, 0, 0, nullptr},
};

PyType_Slot slots[] = {{Py_tp_members, members}, {0, nullptr}};

PyType_Spec spec = {"tesseract_host.loader.State", sizeof(State), 0, Py_TPFLAGS_DEFAULT, slots};

}  // namespace

constinit thread_local PyObject *thread_log [[gnu::tls_model("initial-exec")]] = nullptr;

Ref create_state_type() {
  if (!state_type) {
    state_type = reinterpret_cast<PyTypeObject *>(own(PyType_FromSpec(&spec)).release());
  }
  return Ref(Py_NewRef(reinterpret_cast<PyObject *>(state_type)));
}

State *state_of(PyObject *object) {
  if (!Py_IS_TYPE(object, state_type)) {
    PyErr_SetString(PyExc_TypeError, "no State");
    throw PythonError{};
  }
  return reinterpret_cast<State *>(object);
}

}  // namespace tesseract::python::engine
