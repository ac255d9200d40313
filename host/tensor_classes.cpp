// Which tensors of a call are compared with the same lengths and strides.

#include <cstring>

#include "call.h"
#include "dtype.h"
#include "error.h"

namespace host {
namespace {

// ndim and dtype as they lie in DLTensor.
uint64_t type_word(const DLDataType &dtype, int32_t rank) {
  DLTensor tensor{};
  tensor.ndim = rank;
  tensor.dtype = dtype;
  uint64_t bits = 0;
  std::memcpy(&bits, &tensor.ndim, sizeof bits);
  return bits;
}

class ClassBuilder {
 public:
  explicit ClassBuilder(tesseract_call &call) : call_(call) {}

  void build() {
    for (uint32_t i = 0; i < call_.n_in; i++) class_of(call_.in[i]).in.push_back(i);
    for (uint32_t i = 0; i < call_.n_out; i++)
      if (!call_.out[i].open) class_of(call_.out[i]).out.push_back(i);
    std::vector<bool> bound(call_.n_variables, false);
    for (size_t c = 0; c < call_.classes.size(); c++)
      make_rules(call_.classes[c], lengths_[c], bound);
  }

 private:
  TensorClass &class_of(const Position &position) {
    const uint64_t word = type_word(position.given, position.rank());
    for (size_t c = 0; c < call_.classes.size(); c++) {
      TensorClass &known = call_.classes[c];
      if (known.word == word && known.align_mask == position.alignment - 1 &&
          same_device(known.device, position.declared_device) && lengths_[c] == position.lengths)
        return known;
    }
    TensorClass made;
    made.word = word;
    made.align_mask = position.alignment - 1;
    made.device = position.declared_device;
    made.rank = position.rank();
    made.item = dtype_size(position.given);
    call_.classes.push_back(std::move(made));
    lengths_.push_back(position.lengths);
    return call_.classes.back();
  }

  void make_rules(TensorClass &made, const std::vector<Length> &lengths, std::vector<bool> &bound) {
    made.fixed = true;
    for (const Length &length : lengths) {
      if (length.variable < 0) {
        made.rules.push_back({LengthRule::Kind::fixed, -1, length.fixed});
        continue;
      }
      made.fixed = false;
      const auto variable = static_cast<size_t>(length.variable);
      made.rules.push_back(
          {bound[variable] ? LengthRule::Kind::use : LengthRule::Kind::bind, length.variable, 0});
      bound[variable] = true;
    }
    if (made.fixed) return fix(made, lengths);
    made.scratch = call_.scratch_words;
    call_.scratch_words += 2 * static_cast<uint32_t>(made.rank);
  }

  static void fix(TensorClass &made, const std::vector<Length> &lengths) {
    made.fixed_lengths.resize(2 * static_cast<size_t>(made.rank));
    for (size_t k = 0; k < lengths.size(); k++) made.fixed_lengths[k] = lengths[k].fixed;
    compact_strides(made.rank, made.fixed_lengths.data(), Layout::row_major,
                    made.fixed_lengths.data() + made.rank);
    uint64_t count = 0;
    if (!count_bytes(made.rank, made.fixed_lengths.data(), made.item, &count, &made.fixed_bytes))
      throw Failure(
          TESSERACT_ERROR_SCHEMA,
          "the shape " + shape_text(made.rank, made.fixed_lengths.data()) + " is too large");
  }

  tesseract_call &call_;
  std::vector<std::vector<Length>> lengths_;  // of each class
};

}  // namespace

void make_classes(tesseract_call &call) {
  ClassBuilder(call).build();
}

}  // namespace host
