// One run of a prepared call.
#pragma once

#include "prepared.h"
#include "transfers.h"

namespace tesseract::python {

// GIL held.  Lives on the stack of the run.
class PreparedCall {
 public:
  PreparedCall(const Prepared &plan, Instance &instance, tesseract_frame *frame,
               const arrays::Access &access)
      : plan_(plan),
        instance_(instance),
        frame_(frame),
        access_(access),
        context_(plan.context_.get()),
        transfers_(instance, frame) {}
  PreparedCall(const PreparedCall &) = delete;
  PreparedCall &operator=(const PreparedCall &) = delete;

  // As Prepared::run.
  bool run(int32_t &status);

 private:
  bool can_show() const;
  void show();
  bool build();
  int32_t call();
  Ref call_function(PyObject *function);
  Ref make_vector() const;
  bool is_untouched_vector() const;
  Ref call_derivative(PyObject *function);
  void write(Ref &returned);
  bool write_outputs(Ref &returned);
  bool write_derivatives(Ref &returned);
  bool check_row(PyObject *row, const engine::Leaf *leaves, Ref *arrays);
  [[noreturn]] void fail();
  bool keep();
  int32_t settle();
  void end_streams();

  const Prepared &plan_;
  Instance &instance_;
  tesseract_frame *frame_;
  const arrays::Access &access_;
  engine::Context context_;
  Transfers transfers_;
  bool copies_ = false;
  std::unique_ptr<CallFrame> objects_;
  Ref inputs_;
};

}  // namespace tesseract::python
