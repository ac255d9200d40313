// The driver functions that this library exports, as tests call them.  All handles are pointers to
// what only the library knows: a context, a stream (also 0, 1 and 2), an event.
#ifndef TESTS_FAKE_CUDA_DRIVER_H
#define TESTS_FAKE_CUDA_DRIVER_H

#include "types.h"

extern "C" {

// ---- Devices
fake::Result cuInit(unsigned flags);
fake::Result cuDriverGetVersion(int *version);
fake::Result cuGetErrorName(fake::Result error, const char **text);
fake::Result cuGetErrorString(fake::Result error, const char **text);
fake::Result cuDeviceGetCount(int *count);
fake::Result cuDeviceGet(fake::Ordinal *device, int ordinal);
fake::Result cuDeviceGetAttribute(int *value, int attribute, fake::Ordinal device);
fake::Result cuDeviceGetName(char *name, int size, fake::Ordinal device);
fake::Result cuDeviceGetUuid(fake::Uuid *uuid, fake::Ordinal device);
fake::Result cuDeviceGetUuid_v2(fake::Uuid *uuid, fake::Ordinal device);
fake::Result cuDeviceTotalMem_v2(std::size_t *bytes, fake::Ordinal device);
fake::Result cuDeviceComputeCapability(int *major, int *minor, fake::Ordinal device);
fake::Result cuDeviceCanAccessPeer(int *can, fake::Ordinal device, fake::Ordinal peer);

// ---- Contexts
fake::Result cuDevicePrimaryCtxRetain(void **context, fake::Ordinal device);
fake::Result cuDevicePrimaryCtxRelease_v2(fake::Ordinal device);
fake::Result cuDevicePrimaryCtxReset_v2(fake::Ordinal device);
fake::Result cuDevicePrimaryCtxGetState(fake::Ordinal device, unsigned *flags, int *active);
fake::Result cuDevicePrimaryCtxSetFlags_v2(fake::Ordinal device, unsigned flags);
fake::Result cuCtxCreate_v2(void **context, unsigned flags, fake::Ordinal device);
fake::Result cuCtxDestroy_v2(void *handle);
fake::Result cuCtxPushCurrent_v2(void *handle);
fake::Result cuCtxPopCurrent_v2(void **context);
fake::Result cuCtxSetCurrent(void *handle);
fake::Result cuCtxGetCurrent(void **context);
fake::Result cuCtxGetDevice(fake::Ordinal *device);
fake::Result cuCtxSynchronize();
fake::Result cuCtxEnablePeerAccess(void *, unsigned);

// ---- Streams
fake::Result cuStreamCreate(void **stream, unsigned flags);
fake::Result cuStreamCreateWithPriority(void **stream, unsigned flags, int);
fake::Result cuStreamDestroy_v2(void *handle);
fake::Result cuStreamSynchronize(void *handle);
fake::Result cuStreamQuery(void *handle);
fake::Result cuStreamIsCapturing(void *handle, int *status);
fake::Result cuStreamWaitEvent(void *handle, void *event_handle, unsigned flags);
fake::Result cuStreamGetCtx(void *handle, void **context);
fake::Result cuStreamGetFlags(void *handle, unsigned *flags);
fake::Result cuLaunchHostFunc(void *handle, fake::HostFunction run, void *argument);
fake::Result cuStreamAddCallback(void *handle, void (*run)(void *, fake::Result, void *),
                                 void *argument, unsigned flags);

// ---- Graphs
fake::Result cuStreamBeginCapture_v2(void *handle, int mode);
fake::Result cuStreamEndCapture(void *handle, void **graph);
fake::Result cuThreadExchangeStreamCaptureMode(int *mode);
fake::Result cuGraphDestroy(void *graph);

// ---- Events
fake::Result cuEventCreate(void **event, unsigned flags);
fake::Result cuEventDestroy_v2(void *handle);
fake::Result cuEventRecord(void *handle, void *stream_handle);
fake::Result cuEventQuery(void *handle);
fake::Result cuEventSynchronize(void *handle);
fake::Result cuEventElapsedTime(float *milliseconds, void *begin, void *end);

// ---- Memory
fake::Result cuMemAlloc_v2(fake::Pointer *pointer, std::size_t bytes);
fake::Result cuMemAllocManaged(fake::Pointer *pointer, std::size_t bytes, unsigned flags);
fake::Result cuMemHostAlloc(void **memory, std::size_t bytes, unsigned flags);
fake::Result cuMemAllocHost_v2(void **memory, std::size_t bytes);
fake::Result cuMemFree_v2(fake::Pointer pointer);
fake::Result cuMemFreeHost(void *memory);
fake::Result cuMemAllocAsync(fake::Pointer *pointer, std::size_t bytes, void *stream);
fake::Result cuMemFreeAsync(fake::Pointer pointer, void *stream);
fake::Result cuMemHostRegister_v2(void *memory, std::size_t bytes, unsigned flags);
fake::Result cuMemHostUnregister(void *memory);
fake::Result cuMemHostGetDevicePointer_v2(fake::Pointer *pointer, void *memory, unsigned);
fake::Result cuMemHostGetFlags(unsigned *flags, void *memory);
fake::Result cuMemGetAddressRange_v2(fake::Pointer *base, std::size_t *size, fake::Pointer pointer);
fake::Result cuMemGetInfo_v2(std::size_t *available, std::size_t *total);
fake::Result cuPointerGetAttribute(void *data, int attribute, fake::Pointer pointer);
fake::Result cuIpcGetMemHandle(fake::IpcHandle *, fake::Pointer);
fake::Result cuIpcOpenMemHandle_v2(fake::Pointer *, fake::IpcHandle, unsigned);
fake::Result cuIpcCloseMemHandle(fake::Pointer);

// ---- Copies
fake::Result cuMemcpyHtoDAsync_v2(fake::Pointer to, const void *from, std::size_t bytes,
                                  void *stream);
fake::Result cuMemcpyDtoHAsync_v2(void *to, fake::Pointer from, std::size_t bytes, void *stream);
fake::Result cuMemcpyDtoDAsync_v2(fake::Pointer to, fake::Pointer from, std::size_t bytes,
                                  void *stream);
fake::Result cuMemcpyAsync(fake::Pointer to, fake::Pointer from, std::size_t bytes, void *stream);
fake::Result cuMemcpyHtoD_v2(fake::Pointer to, const void *from, std::size_t bytes);
fake::Result cuMemcpyDtoH_v2(void *to, fake::Pointer from, std::size_t bytes);
fake::Result cuMemcpyDtoD_v2(fake::Pointer to, fake::Pointer from, std::size_t bytes);
fake::Result cuMemcpy(fake::Pointer to, fake::Pointer from, std::size_t bytes);
fake::Result cuMemcpy2DAsync_v2(const fake::Copy2D *copy, void *stream);
fake::Result cuMemcpy2D_v2(const fake::Copy2D *copy);
fake::Result cuMemsetD8Async(fake::Pointer pointer, unsigned char value, std::size_t bytes,
                             void *stream);
fake::Result cuMemsetD8_v2(fake::Pointer pointer, unsigned char value, std::size_t bytes);

// ---- Lookup
fake::Result cuGetProcAddress_v2(const char *name, void **address, int version, std::uint64_t flags,
                                 int *status);
fake::Result cuGetProcAddress(const char *name, void **address, int version, std::uint64_t flags);

}  // extern "C"

#endif
