#include "dtypes.h"

#include "xla_ffi.h"

/* Types of less than a byte are left out: how they are packed differs between platforms. */
const tesseract_jax_dtype tesseract_jax_dtypes[TESSERACT_JAX_DTYPES] = {
    [XLA_PRED] = {"bool", kDLBool, 8},
    [XLA_S8] = {"int8", kDLInt, 8},
    [XLA_S16] = {"int16", kDLInt, 16},
    [XLA_S32] = {"int32", kDLInt, 32},
    [XLA_S64] = {"int64", kDLInt, 64},
    [XLA_U8] = {"uint8", kDLUInt, 8},
    [XLA_U16] = {"uint16", kDLUInt, 16},
    [XLA_U32] = {"uint32", kDLUInt, 32},
    [XLA_U64] = {"uint64", kDLUInt, 64},
    [XLA_F16] = {"float16", kDLFloat, 16},
    [XLA_F32] = {"float32", kDLFloat, 32},
    [XLA_F64] = {"float64", kDLFloat, 64},
    [XLA_C64] = {"complex64", kDLComplex, 64},
    [XLA_C128] = {"complex128", kDLComplex, 128},
    [XLA_BF16] = {"bfloat16", kDLBfloat, 16},
    [XLA_F8E5M2] = {"float8_e5m2", kDLFloat8_e5m2, 8},
    [XLA_F8E4M3FN] = {"float8_e4m3fn", kDLFloat8_e4m3fn, 8},
    [XLA_F8E4M3B11FNUZ] = {"float8_e4m3b11fnuz", kDLFloat8_e4m3b11fnuz, 8},
    [XLA_F8E5M2FNUZ] = {"float8_e5m2fnuz", kDLFloat8_e5m2fnuz, 8},
    [XLA_F8E4M3FNUZ] = {"float8_e4m3fnuz", kDLFloat8_e4m3fnuz, 8},
    [XLA_F8E4M3] = {"float8_e4m3", kDLFloat8_e4m3, 8},
    [XLA_F8E3M4] = {"float8_e3m4", kDLFloat8_e3m4, 8},
    [XLA_F8E8M0FNU] = {"float8_e8m0fnu", kDLFloat8_e8m0fnu, 8},
};
