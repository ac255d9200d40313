// A prepared call: a signature resolved against a component's leaf tables, as a program that a run
// executes without looking at a string.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "component.h"
#include "device/place.h"
#include "dtype.h"
#include "tensor.h"

namespace host {

// A length of a position: fixed, or a variable that the first tensor that has it binds.
struct Length {
  int64_t fixed = -1;
  int32_t variable = -1;
  bool operator==(const Length &) const = default;
};

// A tensor that a run is given, in or out.
struct Position {
  enum class Role : uint8_t { input, seed, output };
  Role role = Role::input;
  std::string path;               // of a Jacobian the output's
  std::string wrt;                // of a Jacobian the input's
  DLDataType given{};             // what the caller hands over
  DLDataType declared{};          // what the component sees; lanes 0: it says so itself (outputs)
  bool placed = false;            // the signature says where the tensor is
  DLDevice given_device = kHost;  // where the caller's tensor is
  DLDevice declared_device = kHost;  // where the component sees it
  bool any_rank = false;             // an output whose rank the component says
  std::vector<Length> lengths;
  Layout layout = Layout::row_major;
  uint64_t alignment = 1;
  uint32_t index = 0;      // among the component's inputs, seeds or outputs
  bool open = false;       // an output with a length that only the component knows
  uint32_t item = 0;       // bytes of an element, where a run reads it
  bool converted = false;  // to the declared dtype, by a component that checks by itself
  bool optional = false;   // an output that the component may leave out

  int32_t rank() const { return static_cast<int32_t>(lengths.size()); }
  bool converts() const { return !same_dtype(given, declared); }
};

// How a length of a class is known at a run.
struct LengthRule {
  enum class Kind : uint8_t { fixed, bind, use };
  Kind kind = Kind::fixed;
  int32_t variable = -1;
  int64_t fixed = 0;
};

// Positions of equal dtype, device, alignment and lengths: shape, strides and bytes are worked out
// once a run, and each tensor is then compared word by word.
struct TensorClass {
  uint64_t word = 0;  // ndim and dtype as they lie in DLTensor
  uint64_t align_mask = 0;
  DLDevice device = kHost;
  int32_t rank = 0;
  uint32_t item = 0;     // bytes of an element
  bool fixed = false;    // every length is known: nothing to work out
  uint32_t scratch = 0;  // where its lengths and strides stand in a run's scratch
  uint64_t fixed_bytes = 0;
  std::vector<LengthRule> rules;
  std::vector<int64_t> fixed_lengths;  // [2 * rank] lengths, strides
  std::vector<uint32_t> in, out;       // members; the first in binds
};

class DerivedCall;

// Which of the fast ways of a run may be tried.
struct Ways {
  bool fast = false, unchecked = false;
};

// The paths of a call's outputs, which its results outlive the call with.
struct OutputName {
  std::string path;  // of a gradient the input's
  std::string wrt;   // of a Jacobian the input's
};
using OutputNames = std::vector<OutputName>;

// A constant input of a component without `prepare`: given in the JSON or a default.
struct Constant {
  uint32_t index;  // among the component's inputs
  OwnedTensor tensor;
};

// The signature as resolved, in the form that is handed out; owns all it points to.
struct ResolvedSignature {
  tesseract_signature signature = TESSERACT_SIGNATURE_INIT;
  struct List {
    tesseract_leaves leaves = TESSERACT_LEAVES_INIT;
    std::vector<tesseract_leaf> items;
    std::vector<DLTensor> tensors;
    std::vector<std::vector<int64_t>> shapes;
    std::vector<std::string> paths;
  };
  List inputs, of, wrt;
  std::string json;
};

}  // namespace host

struct tesseract_call {
  // What a run reads first.
  tesseract_endpoint function = nullptr;
  void *instance = nullptr;
  void *plan = nullptr;
  host::CallLock *lock = nullptr;
  bool reentrant = false;
  bool default_floating_point = false;
  bool overlap_allowed = false;
  bool fast = false;       // nothing is converted, nothing is open, layouts are the default
  bool unchecked = false;  // the component checks by itself: tensors only have to be sound
  bool direct_in = false;  // the caller's arrays are the component's
  bool direct_out = false;
  bool on_device = false;     // the component sees tensors of `device`
  bool synchronises = false;  // and wants all work on the stream done before
  bool no_copy = false;
  bool all_outputs = false;      // every output was asked for: a run may add some
  uint32_t n_in = 0, n_out = 0;  // tensors that a run is given
  uint32_t n_inputs = 0, n_seeds = 0, n_outputs = 0;  // of the frame
  uint32_t scratch_words = 0;                         // lengths and strides of classes
  uint32_t stack_words = 0;                           // all that a fast run needs on its stack
  uint32_t n_variables = 0;
  int32_t endpoint = 0;
  DLDevice device = host::kHost;  // of the caller's device tensors, all of which are on one
  tesseract_frame frame{};        // what is the same in every run
  std::vector<host::TensorClass> classes;
  std::vector<host::Position> in, out;
  std::vector<const DLTensor *> input_template;  // [n_inputs] constants, else null

  std::atomic<uint32_t> references{1};
  tesseract_component *component = nullptr;  // a reference is held
  std::vector<host::Constant> constants;
  std::unique_ptr<host::DerivedCall> derived;
  // Of the run between the copies, where device tensors go through the host; else null.
  std::unique_ptr<host::Ways> staging;
  host::ResolvedSignature resolved;

  // The position out of a wanted output, by its place in the component's arrays.
  uint32_t find_out(uint64_t index) const {
    uint32_t i = 0;
    while (i < n_out && out[i].index != index) i++;
    return i;
  }
  std::unique_ptr<host::ResolvedSignature> seen;  // by the component, where tensors are replaced
  std::shared_ptr<const host::OutputNames> names;

  tesseract_call();
  ~tesseract_call();
};

namespace host {

struct CallDeleter {
  void operator()(tesseract_call *call) const;  // drops a reference
};
using CallReference = std::unique_ptr<tesseract_call, CallDeleter>;

CallReference share(const tesseract_call *call);

// Groups a call's positions into classes; throws Failure (schema) for impossible sizes.
void make_classes(tesseract_call &call);

// Resolves a signature; throws Failure.  Takes references, keeps nothing of the signature.
CallReference prepare_call(tesseract_component *component, const tesseract_signature &signature);

}  // namespace host
