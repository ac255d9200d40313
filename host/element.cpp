#include "element.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace host {
namespace {

// A binary floating-point format of up to 16 bits (IEEE 754 layout).
struct SmallFloat {
  int fraction;       // bits
  int bias;           // of the exponent
  uint32_t sign;      // the sign bit
  uint32_t top;       // the largest finite pattern without sign
  uint32_t infinity;  // its pattern; 0 where the format has none
  uint32_t nan;
};

constexpr SmallFloat binary16 = {10, 15, 0x8000, 0x7BFF, 0x7C00, 0x7E00};
constexpr SmallFloat brain16 = {7, 127, 0x8000, 0x7F7F, 0x7F80, 0x7FC0};
constexpr SmallFloat e4m3fn = {3, 7, 0x80, 0x7E, 0, 0x7F};
constexpr SmallFloat e5m2 = {2, 15, 0x80, 0x7B, 0x7C, 0x7E};

double decode(const SmallFloat &format, uint32_t pattern) {
  const uint32_t magnitude = pattern & (format.sign - 1);
  const double sign = pattern & format.sign ? -1.0 : 1.0;
  if (magnitude > format.top)
    return magnitude == format.infinity ? sign * std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
  const int exponent = static_cast<int>(magnitude >> format.fraction);
  const uint32_t fraction = magnitude & ((1u << format.fraction) - 1);
  const int smallest = 1 - format.bias - format.fraction;
  if (exponent == 0) return sign * std::ldexp(fraction, smallest);
  return sign * std::ldexp(fraction + (1u << format.fraction), smallest + exponent - 1);
}

// Rounds to nearest, ties to even; false if a finite value is too large for the format.
bool encode(const SmallFloat &format, double value, uint32_t *pattern) {
  const uint32_t sign = std::signbit(value) ? format.sign : 0;
  const double magnitude = std::fabs(value);
  if (std::isnan(value)) {
    *pattern = format.nan;
    return true;
  }
  if (std::isinf(value)) {
    if (!format.infinity) return false;
    *pattern = sign | format.infinity;
    return true;
  }
  int exponent = magnitude > 0 ? std::ilogb(magnitude) : 1 - format.bias;
  if (exponent < 1 - format.bias) exponent = 1 - format.bias;
  // In units of the last place at this exponent; rounding up to the next exponent carries over.
  const double units = std::nearbyint(std::ldexp(magnitude, format.fraction - exponent));
  const double wide = units + std::ldexp(exponent + format.bias - 1, format.fraction);
  if (wide > format.top) return false;
  *pattern = sign | static_cast<uint32_t>(wide);
  return true;
}

template <typename T>
T load(const void *from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
bool store(void *to, T value) {
  std::memcpy(to, &value, sizeof value);
  return true;
}

Wide real(double value) {
  return {Wide::Kind::real, 0, 0, value};
}
Wide integer(int64_t value) {
  return {Wide::Kind::integer, value, 0, {}};
}
Wide natural(uint64_t value) {
  return {Wide::Kind::natural, 0, value, {}};
}

template <typename T>
bool store_integer(void *to, const Wide &wide) {
  using Limits = std::numeric_limits<T>;
  switch (wide.kind) {
    case Wide::Kind::integer:
      return std::in_range<T>(wide.integer) && store(to, static_cast<T>(wide.integer));
    case Wide::Kind::natural:
      return std::in_range<T>(wide.natural) && store(to, static_cast<T>(wide.natural));
    case Wide::Kind::real: {
      // The upper bound is one past the largest value: that is a power of two, so exact.
      const double value = wide.value.real();
      const double bound = std::ldexp(1.0, Limits::digits);
      return value == std::floor(value) && value < bound &&
             value >= (Limits::is_signed ? -bound : 0) && store(to, static_cast<T>(value));
    }
    default:
      return false;
  }
}

double as_real(const Wide &wide) {
  if (wide.kind == Wide::Kind::integer) return static_cast<double>(wide.integer);
  if (wide.kind == Wide::Kind::natural) return static_cast<double>(wide.natural);
  return wide.value.real();
}

bool fits_float(double value) {
  const float narrow = static_cast<float>(value);
  return !std::isinf(narrow) || std::isinf(value);
}

bool store_small(const SmallFloat &format, void *to, double value, bool one_byte) {
  uint32_t pattern = 0;
  if (!encode(format, value, &pattern)) return false;
  return one_byte ? store(to, static_cast<uint8_t>(pattern))
                  : store(to, static_cast<uint16_t>(pattern));
}

bool write_real(const DLDataType &dtype, void *to, double value) {
  switch (dtype.code) {
    case kDLBfloat:
      return store_small(brain16, to, value, false);
    case kDLFloat8_e4m3fn:
      return store_small(e4m3fn, to, value, true);
    case kDLFloat8_e5m2:
      return store_small(e5m2, to, value, true);
    default:
      break;
  }
  if (dtype.bits == 64) return store(to, value);
  if (dtype.bits == 32) return fits_float(value) && store(to, static_cast<float>(value));
  return store_small(binary16, to, value, false);
}

}  // namespace

Wide read_element(const DLDataType &dtype, const void *from) {
  switch (dtype.code) {
    case kDLBool:
      return natural(load<uint8_t>(from) != 0);
    case kDLInt:
      if (dtype.bits == 8) return integer(load<int8_t>(from));
      if (dtype.bits == 16) return integer(load<int16_t>(from));
      if (dtype.bits == 32) return integer(load<int32_t>(from));
      return integer(load<int64_t>(from));
    case kDLUInt:
      if (dtype.bits == 8) return natural(load<uint8_t>(from));
      if (dtype.bits == 16) return natural(load<uint16_t>(from));
      if (dtype.bits == 32) return natural(load<uint32_t>(from));
      return natural(load<uint64_t>(from));
    case kDLBfloat:
      return real(decode(brain16, load<uint16_t>(from)));
    case kDLFloat8_e4m3fn:
      return real(decode(e4m3fn, load<uint8_t>(from)));
    case kDLFloat8_e5m2:
      return real(decode(e5m2, load<uint8_t>(from)));
    case kDLComplex: {
      const auto value = dtype.bits == 64 ? std::complex<double>(load<std::complex<float>>(from))
                                          : load<std::complex<double>>(from);
      return {Wide::Kind::complex, 0, 0, value};
    }
    default:
      if (dtype.bits == 64) return real(load<double>(from));
      if (dtype.bits == 32) return real(static_cast<double>(load<float>(from)));
      return real(decode(binary16, load<uint16_t>(from)));
  }
}

bool write_element(const DLDataType &dtype, void *to, const Wide &wide) {
  switch (dtype.code) {
    case kDLBool: {
      uint8_t flag = 0;
      return store_integer<uint8_t>(&flag, wide) && flag <= 1 && store(to, flag);
    }
    case kDLInt:
      if (dtype.bits == 8) return store_integer<int8_t>(to, wide);
      if (dtype.bits == 16) return store_integer<int16_t>(to, wide);
      if (dtype.bits == 32) return store_integer<int32_t>(to, wide);
      return store_integer<int64_t>(to, wide);
    case kDLUInt:
      if (dtype.bits == 8) return store_integer<uint8_t>(to, wide);
      if (dtype.bits == 16) return store_integer<uint16_t>(to, wide);
      if (dtype.bits == 32) return store_integer<uint32_t>(to, wide);
      return store_integer<uint64_t>(to, wide);
    case kDLComplex: {
      const std::complex<double> value =
          wide.kind == Wide::Kind::complex ? wide.value : std::complex<double>(as_real(wide));
      if (dtype.bits == 128) return store(to, value);
      return fits_float(value.real()) && fits_float(value.imag()) &&
             store(to, std::complex<float>(value));
    }
    default:
      return wide.kind != Wide::Kind::complex && write_real(dtype, to, as_real(wide));
  }
}

}  // namespace host
