// Endpoints that a component lacks, made from those it has: a Jacobian from the columns of JVPs or
// the rows of VJPs, JVP and VJP as products with a Jacobian, abstract evaluation from named
// lengths.
#pragma once

#include "call.h"
#include "signature.h"

namespace host {

// Gives `call` the function and plan of a derived endpoint; throws Failure (unsupported) where
// there is nothing to derive it from.
void derive_call(tesseract_call &call, const GivenSignature &given);

// What an endpoint that is not offered would be derived from: "vjp", "jacobian", "shapes"; null.
const char *derivation(const tesseract_component &component, int32_t endpoint);

// The inner calls of a derived one.
class DerivedCall {
 public:
  DerivedCall(tesseract_component *component, const GivenSignature &given,
              const tesseract_call &outer);

  static int32_t run(void *instance, void *plan, tesseract_frame *frame);

 private:
  using List = std::vector<const GivenLeaf *>;

  CallReference prepare(int32_t endpoint, const List &of, const List &wrt) const;
  void run_inner(tesseract_frame *frame, const tesseract_call &inner,
                 const std::vector<const DLTensor *> &in, const std::vector<DLTensor *> *out,
                 tesseract_result **result) const;
  void abstract_eval(tesseract_frame *frame) const;
  void jacobian(tesseract_frame *frame) const;
  void jacobian_rows(tesseract_frame *frame, const std::vector<DLTensor *> &blocks) const;
  void jacobian_columns(tesseract_frame *frame, const std::vector<DLTensor *> &blocks) const;
  void product(tesseract_frame *frame) const;
  std::vector<DLTensor *> allocate_blocks(tesseract_frame *frame) const;
  const DLTensor &input(const tesseract_frame *frame, size_t wrt) const;

  tesseract_component *component_;  // kept by the outer call
  const tesseract_call &outer_;
  const GivenSignature given_;  // constants excepted, which are the outer call's
  int32_t endpoint_;
  std::vector<CallReference> rows_;     // vjp of one output each
  std::vector<CallReference> columns_;  // jvp by one input each
  CallReference jacobian_;
  CallReference shapes_;             // abstract_eval or apply, where lengths are not known
  std::vector<int64_t> wrt_inputs_;  // the index among the inputs given, or -1 - that of a constant
};

}  // namespace host
