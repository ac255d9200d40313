// The tree of checks that a schema is compiled to.
//
// `accept` is what a module is given: containers and models are fresh objects, arrays read-only.
// `plain` is what a caller is given: the same with dicts in place of models.  Both are made of what
// can be proved here to come out as pydantic would have it.  Everything else is a miss: the caller
// asks pydantic, which finds the error or the other answer.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../cp/reference.h"

namespace tesseract::python::engine {

// An array leaf.
struct Leaf {
  int number = -1;             // NumPy's type number; -1: any of the fourteen
  Ref descriptor;              // null where `number` is -1
  int rank = -1;               // -1: any
  std::vector<npy_intp> axes;  // -1: any length
  Ref slow;  // the ArrayCheck of runtime._check: `slow(value, info)`, `slow.checked(value,
             // context)`

  // Whether the first lengths are the declared ones; there are as many as the rank, if that is one.
  template <typename Length>
  bool has_lengths(const Length *lengths) const {
    for (size_t k = 0; k < axes.size(); k++) {
      if (axes[k] >= 0 && axes[k] != lengths[k]) return false;
    }
    return true;
  }
};

enum class Kind : uint8_t {
  kAny,  // passed on untouched
  kNone,
  kBool,
  kInt,
  kFloat,
  kStr,
  kArray,     // leaf
  kOptional,  // None or inner[0]
  kList,      // of inner[0]
  kTuple,     // of inner, one each; or any number of inner[0] where is_variadic
  kDict,      // text to inner[0]
  kModel,     // model
  kAfter,     // function applied to inner[0]
  kForeign,   // function is a bound `validate_python`
};

struct ModelClass;

struct Node {
  Kind kind = Kind::kAny;
  bool is_variadic = false;
  bool runs_functions = false;  // here or below there are functions of the user's
  const Leaf *leaf = nullptr;   // of `owner`
  Ref owner;                    // the CHECK object that the leaf is in
  Ref function;
  std::vector<Node> inner;
  std::unique_ptr<ModelClass> model;

  Node();
  Node(Node &&) noexcept;
  Node &operator=(Node &&) noexcept;
  ~Node();
};

enum class Default : uint8_t {
  kRequired,
  kConstant,  // the object itself
  kCopied,    // a deep copy of it
  kFactory,   // what calling it returns
};

struct Field {
  Ref name;  // interned
  Ref key;   // what it is given by
  Node node;
  Default absent = Default::kRequired;
  Ref value;  // of the default
};

enum class Extra : uint8_t { kForbid, kIgnore, kAllow };

// What a module may return for models.
enum class Source : uint8_t {
  kGiven,   // dicts
  kDumped,  // instances of `base`, as they lie in an instance
};

// Whether a class is still what a tree was compiled for.  A module may change its classes at any
// time; pydantic goes on with the validators it has built, but looks at some things in each call.
class Unchanged {
 public:
  // Notes what pydantic looks at where it makes instances (`__new__`, the slots) and, with `dumps`,
  // where it dumps them (the serializer, `model_dump`).  Throws PythonError.
  void note(PyObject *type, bool dumps);

  // Leaves no exception set, unless one that is no Exception.
  bool holds() const { return (version_ != 0 && current() == version_) || look_again(); }

  int traverse(visitproc visit, void *arg) const;

 private:
  // Another number with every change of the class or of its bases; 0: not known.
  unsigned int current() const {
    auto *type = reinterpret_cast<PyTypeObject *>(type_.get());
#if PY_VERSION_HEX < 0x030C0000
    if (!PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG)) return 0;
#endif
    return type->tp_version_tag;
  }
  bool look_again() const;

  static constexpr size_t kLooked = 3;
  Ref type_, offsets_, found_[kLooked];
  bool dumps_ = false;
  mutable unsigned int version_ = 0;
};

// A class whose instances are made without pydantic.
struct ModelClass {
  Ref type;  // the generated class
  Ref base;  // the user's class that it is generated from
  Py_ssize_t fields_set = 0, extra = 0, private_attributes = 0;  // offsets of pydantic's slots
  Extra extras = Extra::kForbid;
  std::vector<Field> fields;
  Ref names;         // frozenset of all fields' names
  Unchanged made;    // of `type`
  Unchanged dumped;  // of `base`

  // True while `accept` and `plain` of dicts, or of instances, are what pydantic would do.
  bool holds(Source source) const {
    return made.holds() && (source == Source::kGiven || dumped.holds());
  }
};

// What one call shares: the validation context, made when the first leaf asks for it.
class Context {
 public:
  // `make` is borrowed and called without arguments; null where there is no context.
  explicit Context(PyObject *make) : make_(make) {}
  // Borrowed.  Null with an exception set where it can't be made.
  PyObject *get();

 private:
  PyObject *make_;
  Ref made_;
};

// All of the following return null for a miss.  A miss leaves no exception set, unless user code
// raised what is no Exception (KeyboardInterrupt, SystemExit), which the caller must pass on.  User
// code may run in them: what they are given must be owned by somebody meanwhile.

Ref accept(const Node &node, PyObject *value, Context &context);
Ref accept_leaf(const Leaf &leaf, PyObject *value, Context &context);

// The same for what a module returned.  Arrays are read-only.
Ref plain(const Node &node, PyObject *value, Source source, Context &context);

// False where `accept` would miss before or between the user's functions, so that these would run
// twice.  Runs none of them.
bool provable(const Node &node, PyObject *value);

// What an absent field gets, as in pydantic: never validated.
Ref default_of(const Field &field);

// The instance that pydantic would have made of these: `dict` has all fields in the order of
// declaration, `fields_set` the names of those given.  Takes both over.
Ref new_instance(const ModelClass &model, Ref dict, Ref fields_set);

// Visits what the tree refers to, for Python's collector.
int traverse(const Node &node, visitproc visit, void *arg);

// The tree of an object made by `compile` in schema.cpp, borrowed from it; null for any other.
const Node *node_of(PyObject *schema);

}  // namespace tesseract::python::engine
