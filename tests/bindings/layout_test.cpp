// Fortran's structs have the sizes, offsets and initial sizes of C's.
#include <gtest/gtest.h>
#include <tesseract_host/host.h>
#include <tesseract_host/plugin.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

extern "C" std::int32_t fortran_constants(std::int64_t numbers[64]);
extern "C" std::int32_t fortran_layout(std::int32_t which, std::int64_t numbers[32]);

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers fortran(std::int32_t which) {
  std::array<std::int64_t, 32> numbers{};
  const auto count = fortran_layout(which, numbers.data());
  return {numbers.begin(), numbers.begin() + count};
}

#define AT(member) offsetof(Struct, member)

// A struct's size, then what its member `size` starts as (0: it has none, or others fill it in),
// then its members.
#define EXPECT_LAYOUT(which, type, initial, ...)                                         \
  do {                                                                                   \
    using Struct = type;                                                                 \
    EXPECT_EQ(fortran(which), (Numbers{sizeof(Struct), initial, __VA_ARGS__})) << #type; \
  } while (false)

TEST(Layout, OfDlpack) {
  EXPECT_LAYOUT(0, DLTensor, 0, AT(data), AT(device), AT(ndim), AT(dtype), AT(shape), AT(strides),
                AT(byte_offset));
  EXPECT_LAYOUT(1, DLManagedTensorVersioned, 0, AT(version.major), AT(version.minor),
                AT(manager_ctx), AT(deleter), AT(flags), AT(dl_tensor));
}

TEST(Layout, OfTypes) {
  EXPECT_LAYOUT(2, tesseract_range, 0, AT(min), AT(max));
  EXPECT_LAYOUT(3, tesseract_string, 0, AT(data), AT(length));
  EXPECT_LAYOUT(4, tesseract_owner, 0, AT(object), AT(retain), AT(release));
  EXPECT_LAYOUT(5, tesseract_leaf, 0, AT(path), AT(tensor), AT(owner));
  EXPECT_LAYOUT(6, tesseract_leaves, sizeof(Struct), AT(size), AT(flags), AT(count), AT(items),
                AT(json));
  EXPECT_LAYOUT(7, tesseract_signature, sizeof(Struct), AT(size), AT(flags), AT(endpoint),
                AT(reserved), AT(inputs), AT(of), AT(wrt));
  EXPECT_LAYOUT(8, tesseract_call_options, sizeof(Struct), AT(size), AT(flags), AT(stream),
                AT(cancel), AT(owners));
}

TEST(Layout, OfHost) {
  EXPECT_LAYOUT(9, tesseract_open_options, sizeof(Struct), AT(size), AT(flags), AT(json), AT(log),
                AT(log_data), AT(log_free));
  EXPECT_LAYOUT(10, tesseract_statistics, sizeof(Struct), AT(size), AT(flags), AT(calls),
                AT(prepared), AT(layout_copies), AT(layout_bytes), AT(dtype_copies),
                AT(dtype_bytes), AT(device_copies), AT(device_bytes), AT(owned_copies),
                AT(owned_bytes));
}

TEST(Layout, OfPlugin) {
  EXPECT_LAYOUT(11, tesseract_host_table, 0, AT(size), AT(flags), AT(abi), AT(error_set),
                AT(error_detail), AT(cancelled), AT(allocate_output), AT(add_output),
                AT(output_json), AT(copied), AT(log), AT(extension));
  EXPECT_LAYOUT(12, tesseract_frame, 0, AT(size), AT(flags), AT(endpoint), AT(reserved), AT(host),
                AT(log), AT(signature), AT(inputs), AT(seeds), AT(outputs), AT(owners),
                AT(n_inputs), AT(n_seeds), AT(n_outputs), AT(stream));
  EXPECT_LAYOUT(13, tesseract_plugin_table, sizeof(Struct), AT(size), AT(flags), AT(abi),
                AT(create), AT(destroy), AT(describe), AT(prepare), AT(forget), AT(apply), AT(jvp),
                AT(vjp), AT(jacobian), AT(abstract_eval), AT(extension));
}

TEST(Constants, AreThoseOfC) {
  std::array<std::int64_t, 64> numbers{};
  const auto count = fortran_constants(numbers.data());
  const Numbers expected{TESSERACT_ABI_MIN,
                         TESSERACT_ABI_MAX,
                         TESSERACT_OK,
                         TESSERACT_ERROR_INVALID_ARGUMENT,
                         TESSERACT_ERROR_SCHEMA,
                         TESSERACT_ERROR_DEVICE,
                         TESSERACT_ERROR_UNSUPPORTED,
                         TESSERACT_ERROR_NOT_FOUND,
                         TESSERACT_ERROR_OUT_OF_DOMAIN,
                         TESSERACT_ERROR_COMPONENT,
                         TESSERACT_ERROR_OUT_OF_MEMORY,
                         TESSERACT_ERROR_CANCELLED,
                         TESSERACT_ERROR_VERSION,
                         TESSERACT_ERROR_UNAVAILABLE,
                         TESSERACT_ERROR_INTERNAL,
                         TESSERACT_DETAIL_COMPONENT,
                         TESSERACT_DETAIL_ENDPOINT,
                         TESSERACT_DETAIL_PATH,
                         TESSERACT_DETAIL_TRACEBACK,
                         TESSERACT_LOG_DEBUG,
                         TESSERACT_LOG_INFO,
                         TESSERACT_LOG_WARNING,
                         TESSERACT_LOG_ERROR,
                         TESSERACT_LOG_OUTPUT,
                         TESSERACT_ENDPOINT_APPLY,
                         TESSERACT_ENDPOINT_JVP,
                         TESSERACT_ENDPOINT_VJP,
                         TESSERACT_ENDPOINT_JACOBIAN,
                         TESSERACT_ENDPOINT_ABSTRACT_EVAL,
                         TESSERACT_NO_COPY,
                         TESSERACT_OPEN_LISTING,
                         TESSERACT_FRAME_ALL,
                         TESSERACT_TEXT_DESCRIPTION,
                         TESSERACT_TEXT_OPENAPI,
                         TESSERACT_TEXT_NAME,
                         TESSERACT_COPY_LAYOUT,
                         TESSERACT_COPY_DTYPE,
                         TESSERACT_COPY_DEVICE,
                         TESSERACT_COPY_OWNED,
                         kDLCPU,
                         kDLCUDA,
                         kDLCUDAHost,
                         kDLCUDAManaged,
                         static_cast<std::int64_t>(TESSERACT_NTS),
                         TESSERACT_ALL,
                         kDLInt,
                         kDLUInt,
                         kDLFloat,
                         kDLBfloat,
                         kDLComplex,
                         kDLBool};
  EXPECT_EQ(Numbers(numbers.begin(), numbers.begin() + count), expected);
}

TEST(Layout, HasNoOtherStruct) {
  EXPECT_EQ(fortran(14), Numbers{});
}

}  // namespace
