/* Our declarations of XLA's interface beside those of an installed jaxlib: compiles or does not. */
#include <xla/ffi/api/c_api.h>

#include "../../python/adapter/xla_ffi.h"

#define SAME(ours, their, member, their_member)                                         \
  _Static_assert(offsetof(ours, member) == offsetof(their, their_member) &&             \
                     sizeof(((ours *)0)->member) == sizeof(((their *)0)->their_member), \
                 #ours "." #member)
#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours)
/* Theirs may have grown. */
#define SIZE(ours, their) _Static_assert(sizeof(ours) <= sizeof(their), #ours)
#define FROZEN(ours, their) _Static_assert(sizeof(ours) == sizeof(their), #ours)

FROZEN(xla_version, XLA_FFI_Api_Version);
SAME(xla_version, XLA_FFI_Api_Version, major, major_version);
SAME(xla_version, XLA_FFI_Api_Version, minor, minor_version);

SAME(xla_metadata, XLA_FFI_Metadata, size, struct_size);
SAME(xla_metadata, XLA_FFI_Metadata, version, api_version);
SAME(xla_metadata, XLA_FFI_Metadata, traits, traits);
SIZE(xla_metadata, XLA_FFI_Metadata);
SAME(xla_metadata_extension, XLA_FFI_Metadata_Extension, base.size, extension_base.struct_size);
SAME(xla_metadata_extension, XLA_FFI_Metadata_Extension, base.type, extension_base.type);
SAME(xla_metadata_extension, XLA_FFI_Metadata_Extension, base.next, extension_base.next);
SAME(xla_metadata_extension, XLA_FFI_Metadata_Extension, metadata, metadata);

SAME(xla_error_create, XLA_FFI_Error_Create_Args, message, message);
SAME(xla_error_create, XLA_FFI_Error_Create_Args, code, errc);
FROZEN(xla_error_create, XLA_FFI_Error_Create_Args);
SAME(xla_stream_get, XLA_FFI_Stream_Get_Args, context, ctx);
SAME(xla_stream_get, XLA_FFI_Stream_Get_Args, stream, stream);
FROZEN(xla_stream_get, XLA_FFI_Stream_Get_Args);
SAME(xla_ordinal_get, XLA_FFI_DeviceOrdinal_Get_Args, context, ctx);
SAME(xla_ordinal_get, XLA_FFI_DeviceOrdinal_Get_Args, ordinal, device_ordinal);
FROZEN(xla_ordinal_get, XLA_FFI_DeviceOrdinal_Get_Args);

SAME(xla_api, XLA_FFI_Api, size, struct_size);
SAME(xla_api, XLA_FFI_Api, version, api_version);
SAME(xla_api, XLA_FFI_Api, error_create, XLA_FFI_Error_Create);
SAME(xla_api, XLA_FFI_Api, stream_get, XLA_FFI_Stream_Get);
SAME(xla_api, XLA_FFI_Api, ordinal_get, XLA_FFI_DeviceOrdinal_Get);
SIZE(xla_api, XLA_FFI_Api);

FROZEN(xla_text, XLA_FFI_ByteSpan);
SAME(xla_text, XLA_FFI_ByteSpan, data, ptr);
SAME(xla_text, XLA_FFI_ByteSpan, length, len);
FROZEN(xla_scalar, XLA_FFI_Scalar);
SAME(xla_scalar, XLA_FFI_Scalar, dtype, dtype);
SAME(xla_scalar, XLA_FFI_Scalar, value, value);

SAME(xla_buffer, XLA_FFI_Buffer, dtype, dtype);
SAME(xla_buffer, XLA_FFI_Buffer, data, data);
SAME(xla_buffer, XLA_FFI_Buffer, rank, rank);
SAME(xla_buffer, XLA_FFI_Buffer, dims, dims);
SIZE(xla_buffer, XLA_FFI_Buffer);

FROZEN(xla_buffers, XLA_FFI_Args);
FROZEN(xla_buffers, XLA_FFI_Rets);
SAME(xla_buffers, XLA_FFI_Args, count, size);
SAME(xla_buffers, XLA_FFI_Args, types, types);
SAME(xla_buffers, XLA_FFI_Args, items, args);
SAME(xla_buffers, XLA_FFI_Rets, items, rets);
FROZEN(xla_attributes, XLA_FFI_Attrs);
SAME(xla_attributes, XLA_FFI_Attrs, count, size);
SAME(xla_attributes, XLA_FFI_Attrs, types, types);
SAME(xla_attributes, XLA_FFI_Attrs, names, names);
SAME(xla_attributes, XLA_FFI_Attrs, values, attrs);

SAME(xla_frame, XLA_FFI_CallFrame, size, struct_size);
SAME(xla_frame, XLA_FFI_CallFrame, extensions, extension_start);
SAME(xla_frame, XLA_FFI_CallFrame, api, api);
SAME(xla_frame, XLA_FFI_CallFrame, context, ctx);
SAME(xla_frame, XLA_FFI_CallFrame, stage, stage);
SAME(xla_frame, XLA_FFI_CallFrame, arguments, args);
SAME(xla_frame, XLA_FFI_CallFrame, results, rets);
SAME(xla_frame, XLA_FFI_CallFrame, attributes, attrs);
SIZE(xla_frame, XLA_FFI_CallFrame);

EQUAL(XLA_VERSION_MAJOR, XLA_FFI_API_MAJOR);
_Static_assert(XLA_VERSION_MINOR <= XLA_FFI_API_MINOR, "a version newer than the runtime's");
EQUAL(XLA_EXTENSION_METADATA, XLA_FFI_Extension_Metadata);
EQUAL(XLA_STAGE_EXECUTE, XLA_FFI_ExecutionStage_EXECUTE);
EQUAL(XLA_BUFFER, XLA_FFI_ArgType_BUFFER);
EQUAL(XLA_BUFFER, XLA_FFI_RetType_BUFFER);
EQUAL(XLA_ATTRIBUTE_SCALAR, XLA_FFI_AttrType_SCALAR);
EQUAL(XLA_ATTRIBUTE_STRING, XLA_FFI_AttrType_STRING);
EQUAL(XLA_TRAIT_CAPTURED, XLA_FFI_HANDLER_TRAITS_COMMAND_BUFFER_COMPATIBLE);
EQUAL(XLA_INVALID_ARGUMENT, XLA_FFI_Error_Code_INVALID_ARGUMENT);
EQUAL(XLA_RESOURCE_EXHAUSTED, XLA_FFI_Error_Code_RESOURCE_EXHAUSTED);
EQUAL(XLA_FAILED_PRECONDITION, XLA_FFI_Error_Code_FAILED_PRECONDITION);
EQUAL(XLA_UNIMPLEMENTED, XLA_FFI_Error_Code_UNIMPLEMENTED);
EQUAL(XLA_INTERNAL, XLA_FFI_Error_Code_INTERNAL);
EQUAL(XLA_PRED, XLA_FFI_DataType_PRED);
EQUAL(XLA_S8, XLA_FFI_DataType_S8);
EQUAL(XLA_S16, XLA_FFI_DataType_S16);
EQUAL(XLA_S32, XLA_FFI_DataType_S32);
EQUAL(XLA_S64, XLA_FFI_DataType_S64);
EQUAL(XLA_U8, XLA_FFI_DataType_U8);
EQUAL(XLA_U16, XLA_FFI_DataType_U16);
EQUAL(XLA_U32, XLA_FFI_DataType_U32);
EQUAL(XLA_U64, XLA_FFI_DataType_U64);
EQUAL(XLA_F16, XLA_FFI_DataType_F16);
EQUAL(XLA_F32, XLA_FFI_DataType_F32);
EQUAL(XLA_F64, XLA_FFI_DataType_F64);
EQUAL(XLA_C64, XLA_FFI_DataType_C64);
EQUAL(XLA_BF16, XLA_FFI_DataType_BF16);
EQUAL(XLA_C128, XLA_FFI_DataType_C128);
EQUAL(XLA_F8E5M2, XLA_FFI_DataType_F8E5M2);
EQUAL(XLA_F8E4M3FN, XLA_FFI_DataType_F8E4M3FN);
EQUAL(XLA_F8E4M3B11FNUZ, XLA_FFI_DataType_F8E4M3B11FNUZ);
EQUAL(XLA_F8E5M2FNUZ, XLA_FFI_DataType_F8E5M2FNUZ);
EQUAL(XLA_F8E4M3FNUZ, XLA_FFI_DataType_F8E4M3FNUZ);
EQUAL(XLA_F8E4M3, XLA_FFI_DataType_F8E4M3);
EQUAL(XLA_F8E3M4, XLA_FFI_DataType_F8E3M4);
EQUAL(XLA_F8E8M0FNU, XLA_FFI_DataType_F8E8M0FNU);
