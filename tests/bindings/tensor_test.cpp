// Tensors over C++ arrays and views of tensors, without a host.
#include <gtest/gtest.h>
#include <tesseract_host/cpp/tensor.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace {

using tesseract::Destination;
using tesseract::Error;
using tesseract::Shape;
using tesseract::Tensor;
using tesseract::View;

// The status of the Error that `body` throws.
template <class Body>
std::int32_t status_of(Body body) {
  try {
    body();
  } catch (const Error &error) {
    EXPECT_STRNE(error.what(), "");
    return error.status();
  }
  return TESSERACT_OK;
}

void expect_dtype(DLDataType dtype, int code, int bits) {
  EXPECT_EQ(dtype.code, code);
  EXPECT_EQ(dtype.bits, bits);
  EXPECT_EQ(dtype.lanes, 1);
}

TEST(ElementTypes, HaveTheDtypesOfTheirSizeAndKind) {
  expect_dtype(tesseract::dtype_of<double>(), kDLFloat, 64);
  expect_dtype(tesseract::dtype_of<float>(), kDLFloat, 32);
  expect_dtype(tesseract::dtype_of<std::complex<double>>(), kDLComplex, 128);
  expect_dtype(tesseract::dtype_of<std::complex<float>>(), kDLComplex, 64);
  expect_dtype(tesseract::dtype_of<bool>(), kDLBool, 8);
  expect_dtype(tesseract::dtype_of<std::int8_t>(), kDLInt, 8);
  expect_dtype(tesseract::dtype_of<std::int64_t>(), kDLInt, 64);
  expect_dtype(tesseract::dtype_of<long long>(), kDLInt, 64);
  expect_dtype(tesseract::dtype_of<std::uint16_t>(), kDLUInt, 16);
}

TEST(ElementTypes, ExcludeWhatIsNoNumber) {
  static_assert(!tesseract::Element<char>);
  static_assert(!tesseract::Element<char32_t>);
  static_assert(!tesseract::Element<long double>);
  static_assert(!tesseract::Element<const char *>);
  static_assert(!std::is_constructible_v<Tensor, std::string>);
  static_assert(!std::is_constructible_v<Tensor, std::vector<bool>>);
}

TEST(Tensors, OfRangesHaveOneAxisAndBorrowTheElements) {
  std::vector<float> vector{1, 2, 3};
  const std::array<int, 2> array{4, 5};
  const double c_array[] = {6, 7, 8, 9};
  const Tensor of_vector(vector), of_array(array), of_c_array(c_array);
  const Tensor of_span(std::span<const float>(vector).subspan(1));
  EXPECT_EQ(of_vector.get()->data, vector.data());
  EXPECT_EQ(of_vector.get()->ndim, 1);
  EXPECT_EQ(of_vector.get()->shape[0], 3);
  EXPECT_EQ(of_vector.get()->strides, nullptr);
  EXPECT_EQ(of_vector.get()->device.device_type, kDLCPU);
  EXPECT_EQ(of_array.get()->data, array.data());
  EXPECT_EQ(of_array.get()->shape[0], 2);
  EXPECT_EQ(of_c_array.get()->shape[0], 4);
  EXPECT_EQ(of_span.get()->data, vector.data() + 1);
  EXPECT_EQ(of_span.get()->shape[0], 2);
}

TEST(Tensors, OfNumbersHoldTheValue) {
  double number = 2.5;
  const Tensor tensor(number);
  number = 0;
  EXPECT_EQ(tensor.get()->ndim, 0);
  EXPECT_EQ(*static_cast<const double *>(tensor.get()->data), 2.5);
}

TEST(Tensors, CopiesPointIntoThemselvesNotIntoTheOriginal) {
  std::vector<double> elements(6, 1.0);
  std::vector<Tensor> tensors;
  for (int i = 0; i < 20; ++i) {  // reallocates, and destroys the originals
    tensors.emplace_back(std::complex<double>(i, -i));
    tensors.emplace_back(elements.data(), Shape{2, 3}, Shape{1, 2});
  }
  for (int i = 0; i < 20; ++i) {
    const DLTensor *number = tensors[static_cast<std::size_t>(2 * i)].get();
    const DLTensor *array = tensors[static_cast<std::size_t>(2 * i + 1)].get();
    EXPECT_EQ(*static_cast<const std::complex<double> *>(number->data),
              std::complex<double>(i, -i));
    EXPECT_EQ(array->data, elements.data());
    EXPECT_EQ(array->shape[1], 3);
    EXPECT_EQ(array->strides[1], 2);
  }
  Tensor assigned(1.0f);
  {
    const Tensor source(elements.data(), {3, 2});
    assigned = source;
  }
  EXPECT_EQ(assigned.get()->shape[0], 3);
  EXPECT_EQ(assigned.get()->strides, nullptr);
}

TEST(Tensors, OfADlTensorBorrowItsShape) {
  std::int64_t shape[] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
  double element = 0;
  const DLTensor described = tesseract_float64(&element, 10, shape);
  const Tensor tensor(described);
  const Tensor copy(tensor);
  EXPECT_EQ(copy.get()->ndim, 10);
  EXPECT_EQ(copy.get()->shape, shape);
}

TEST(Tensors, RefuseStridesOfAnotherNumberAndRanksAboveEight) {
  const double element = 0;
  EXPECT_EQ(status_of([&] { Tensor(&element, {1, 1}, {1}); }), TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status_of([&] { Tensor(&element, {1, 1, 1, 1, 1, 1, 1, 1, 1}); }),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(status_of([&] { Tensor(&element, {1, 1, 1, 1, 1, 1, 1, 1}); }), TESSERACT_OK);
}

TEST(Destinations, WriteWhereTheNumberStands) {
  double number = 0;
  Destination destination(number);
  EXPECT_EQ(destination.get()->data, &number);
  EXPECT_EQ(destination.get()->ndim, 0);
}

TEST(Destinations, AreNotMadeOfConstants) {
  static_assert(std::is_constructible_v<Destination, std::vector<double> &>);
  static_assert(std::is_constructible_v<Destination, std::span<double>>);
  static_assert(!std::is_constructible_v<Destination, const std::vector<double> &>);
  static_assert(!std::is_constructible_v<Destination, std::vector<double>>);
  static_assert(!std::is_constructible_v<Destination, std::span<const double>>);
  static_assert(!std::is_constructible_v<Destination, const double &>);
  static_assert(!std::is_constructible_v<Destination, double>);
  static_assert(!std::is_constructible_v<Destination, const double *, Shape>);
}

TEST(Views, ReadByIndicesThroughAnyStrides) {
  const double elements[] = {0, 1, 2, 3, 4, 5};
  const Tensor rows(elements, {2, 3}), columns(elements, {2, 3}, {1, 2});
  const View<const double> by_row(*rows.get()), by_column(*columns.get());
  EXPECT_EQ(by_row(0, 0), 0);
  EXPECT_EQ(by_row(0, 2), 2);
  EXPECT_EQ(by_row(1, 1), 4);
  EXPECT_EQ(by_column(0, 2), 4);
  EXPECT_EQ(by_column(1, 1), 3);
  EXPECT_TRUE(by_row.compact());
  EXPECT_FALSE(by_column.compact());
  EXPECT_EQ(by_row.span()[5], 5);
  EXPECT_EQ(by_row.span().size(), 6u);
  EXPECT_EQ(status_of([&] { by_column.span(); }), TESSERACT_ERROR_INVALID_ARGUMENT);
}

TEST(Views, CountTheByteOffset) {
  double elements[] = {0, 1, 2, 3};
  std::int64_t shape[] = {2};
  DLTensor tensor = tesseract_float64(elements, 1, shape);
  tensor.byte_offset = 16;
  const View<double> view(tensor);
  view(1) = 9;
  EXPECT_EQ(view(0), 2);
  EXPECT_EQ(elements[3], 9);
}

TEST(Views, OfNumbersOfNothingAndOfZeroSize) {
  const Tensor number(7.0f);
  const View<const float> of_number(*number.get());
  EXPECT_EQ(of_number(), 7.0f);
  EXPECT_EQ(of_number.size(), 1u);
  EXPECT_EQ(of_number.span()[0], 7.0f);
  EXPECT_TRUE(of_number.shape().empty());

  const View<const float> of_nothing;
  EXPECT_FALSE(of_nothing);
  EXPECT_EQ(of_nothing.size(), 0u);
  EXPECT_TRUE(of_nothing.span().empty());

  const Tensor empty(static_cast<const float *>(nullptr), {3, 0}, {5, 7});
  const View<const float> of_empty(*empty.get());
  EXPECT_TRUE(of_empty);
  EXPECT_EQ(of_empty.size(), 0u);
  EXPECT_TRUE(of_empty.span().empty());
}

TEST(Views, StridesOfAxesOfLengthOneDoNotMatter) {
  const double elements[] = {0, 1, 2};
  const Tensor tensor(elements, {1, 3, 1}, {99, 1, -5});
  EXPECT_TRUE(View<const double>(*tensor.get()).compact());
}

TEST(Views, RefuseAnotherDtypeAndMemoryOutOfReach) {
  std::int64_t shape[] = {1};
  float element = 0;
  DLTensor tensor = tesseract_float32(&element, 1, shape);
  EXPECT_EQ(status_of([&] { View<double>{tensor}; }), TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(status_of([&] { View<std::int32_t>{tensor}; }), TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(status_of([&] { View<float>{tensor}; }), TESSERACT_OK);
  tensor.device.device_type = kDLCUDA;
  EXPECT_EQ(status_of([&] { View<float>{tensor}; }), TESSERACT_ERROR_DEVICE);
}

TEST(Errors, KeepTheirTextsWhenCopied) {
  Error copy(0, "");
  {
    const tesseract::OutOfDomain error("too large", "dt");
    copy = error;
  }
  EXPECT_STREQ(copy.what(), "too large");
  EXPECT_EQ(copy.path(), "dt");
  EXPECT_EQ(copy.status(), TESSERACT_ERROR_OUT_OF_DOMAIN);
  EXPECT_EQ(copy.cause(), nullptr);
  static_assert(std::is_nothrow_copy_constructible_v<Error>);
}

}  // namespace
