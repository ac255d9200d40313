// Arrays in device memory given to Python modules as they are, on the fake driver.
#include <cmath>
#include <cstring>

#include "device.h"

namespace loader_test {
namespace {

TEST_F(Devices, ReachTheModuleAsTheyAre) {
  const Component component("devices", kDirect);
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  const OnDevice x({1.0, 2.0, 3.0});
  OnDevice y({0.0, 0.0, 0.0});
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}});
  for (int i = 0; i < 4; i++) {
    ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << call.failure.message;
    EXPECT_EQ(y.values(), (Vector{2.0, 4.0, 6.0})) << i;
    const nlohmann::json seen = call.seen();
    EXPECT_EQ(seen["kind"], "DeviceArray");
    EXPECT_EQ(seen["pointer"], x.pointer());
    EXPECT_EQ(seen["read_only"], false);
    EXPECT_EQ(seen["shape"], nlohmann::json({3}));
    EXPECT_EQ(seen["dtype"], "float64");
    EXPECT_EQ(seen["stream"], nullptr);
  }
}

Vector read(const DLTensor &tensor) {
  Vector values(static_cast<size_t>(tensor.shape[0]));
  if (tensor.device.device_type == kDLCPU) {
    std::memcpy(values.data(), tensor.data, 8 * values.size());
  } else {
    const auto pointer = reinterpret_cast<uint64_t>(tensor.data);
    EXPECT_EQ(fake_cuda_read(pointer, values.data(), 8 * values.size()), 0);
  }
  return values;
}

// Elements that no signature names are on the call's device, too.
TEST_F(Devices, InContainers) {
  const Component component("device_lists", kDirect);
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  const OnDevice first({1.0}), second({2.0, 3.0}), named({4.0}), inner({5.0});
  const tesseract_leaf given[] = {{TESSERACT_STR("xs.[0]"), &first.tensor, nullptr},
                                  {TESSERACT_STR("xs.[1]"), &second.tensor, nullptr},
                                  {TESSERACT_STR("named.{k}"), &named.tensor, nullptr},
                                  {TESSERACT_STR("inner.p"), &inner.tensor, nullptr}};
  const std::map<std::string, Vector> expected = {{"xs.[0]", {1.0}},       {"xs.[1]", {2.0, 3.0}},
                                                  {"xs.[2]", {7.0}},       {"named.{k}", {4.0}},
                                                  {"named.{here}", {8.0}}, {"inner.p", {5.0}}};
  for (int i = 0; i < 4; i++) {
    tesseract_leaves inputs = TESSERACT_LEAVES_INIT;
    inputs.count = 4;
    inputs.items = given;
    tesseract_call_options options = TESSERACT_CALL_OPTIONS_INIT;
    options.stream = new_stream();
    tesseract_result *result = nullptr;
    tesseract_error *error = nullptr;
    const int32_t status =
        tesseract_apply(component.get(), &inputs, nullptr, &options, &result, &error);
    const Failure failure(status, error);
    ASSERT_EQ(status, TESSERACT_OK) << failure.message;
    std::map<std::string, Vector> found;
    for (int64_t k = 0; k < tesseract_result_count(result); k++) {
      const DLTensor *tensor = tesseract_result_tensor(result, k);
      const std::string path = tesseract_result_path(result, k, nullptr);
      EXPECT_EQ(tensor->device.device_type, kDLCUDA) << path;
      fake_cuda_pump_all();
      found[path] = read(*tensor);
    }
    EXPECT_EQ(found, expected);
    const nlohmann::json document = nlohmann::json::parse(tesseract_result_json(result, nullptr));
    EXPECT_EQ(document["kinds"], nlohmann::json(std::vector<std::string>(4, "DeviceArray")));
    tesseract_result_free(result);
  }
}

TEST_F(Devices, AreCountedWhereTheyAreCopied) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  OnDevice y(kX);
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("device"));
  ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << call.failure.message;
  EXPECT_EQ(component.statistics().device_copies, 1u);
  EXPECT_EQ(component.statistics().device_bytes, 32u);
  EXPECT_EQ(component.statistics().owned_copies, 0u);
}

TEST_F(Devices, HostArraysStayWhatTheyAre) {
  const Component component("devices", kDirect);
  std::vector<double> x = kX;
  int64_t shape[1] = {4};
  const DLTensor tensor = tesseract_float64(x.data(), 1, shape);
  OnDevice y(kX);
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x", false}}, {{"y"}}, {}, way("device"));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(call.run({&tensor}, {&y.tensor}), TESSERACT_OK) << call.failure.message;
    fake_cuda_pump_all();
    EXPECT_EQ(call.seen()["kind"], "host");
    EXPECT_EQ(y.values(), kDoubled);
  }
}

TEST_F(Devices, MayBeReturnedByModulesThatGetNone) {
  const OnDevice x(kX);
  OnDevice there(Vector(4, 0.0));
  Vector here(4, 0.0), given = kX;
  int64_t shape[1] = {4};
  const DLTensor host = tesseract_float64(given.data(), 1, shape);
  DLTensor out = tesseract_float64(here.data(), 1, shape);
  for (const std::string &options : {std::string("{}"), kDirect}) {
    const Component component("devices", options);
    DeviceCall on_host(component, TESSERACT_ENDPOINT_APPLY, {{"x", false}}, {{"y", false}}, {},
                       way("made"));
    DeviceCall staged(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("made"),
                      TESSERACT_STAGED);
    const Current current;
    for (int i = 0; i < 3; i++) {
      here.assign(4, 0.0);
      ASSERT_EQ(on_host.run({&host}, {&out}, 0), TESSERACT_OK) << on_host.failure.message;
      EXPECT_EQ(here, kX);
      ASSERT_EQ(staged.run({&x.tensor}, {&there.tensor}), TESSERACT_OK) << staged.failure.message;
      EXPECT_EQ(staged.seen()["kind"], "host");
      fake_cuda_pump_all();
      EXPECT_EQ(there.values(), kX);
    }
  }
}

TEST_F(Devices, AreEmpty) {
  const Component component("devices", kDirect);
  const OnDevice x(Vector{});
  OnDevice y(Vector{});
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("device"));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << call.failure.message;
    EXPECT_EQ(call.seen()["pointer"], 0);
  }
}

TEST_F(Devices, OfDerivativesAreThoseOfTheCaller) {
  const Component component("devices", kDirect);
  const OnDevice x(kX), seed({1.0, 0.0, 2.0, 0.0});
  const Vector expected = {2.0, 0.0, 4.0, 0.0};
  for (const char *name : {"device", "stream", "host"}) {
    DeviceCall jvp(component, TESSERACT_ENDPOINT_JVP, {{"x"}}, {{"y"}}, {{"x"}}, way(name));
    DeviceCall vjp(component, TESSERACT_ENDPOINT_VJP, {{"x"}}, {{"y"}}, {{"x"}}, way(name));
    for (int i = 0; i < 3; i++) {
      for (DeviceCall *call : {&jvp, &vjp}) {
        OnDevice out(kX);
        ASSERT_EQ(call->run({&x.tensor, &seed.tensor}, {&out.tensor}), TESSERACT_OK)
            << call->failure.message;
        fake_cuda_pump_all();
        EXPECT_EQ(out.values(), expected) << name;
      }
    }
  }
  DeviceCall jacobian(component, TESSERACT_ENDPOINT_JACOBIAN, {{"x"}}, {{"y", false, 0, false}},
                      {{"x", false, 0, false}});
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(jacobian.run({&x.tensor}), TESSERACT_OK) << jacobian.failure.message;
    const DLTensor *found = jacobian.output();
    ASSERT_EQ(found->ndim, 2);
    Vector values(16);
    fake_cuda_pump_all();
    const auto pointer = reinterpret_cast<uint64_t>(found->data);
    if (found->device.device_type == kDLCPU) {
      std::memcpy(values.data(), found->data, 128);
    } else {
      EXPECT_EQ(fake_cuda_read(pointer, values.data(), 128), 0);
    }
    for (size_t k = 0; k < 16; k++) EXPECT_EQ(values[k], k % 5 == 0 ? 2.0 : 0.0);
  }
}

// ---- Streams -----------------------------------------------------------------------------------

int64_t host_waits() {
  fake_cuda_state state{};
  fake_cuda_get_state(&state);
  return state.host_waits;
}

// The module that makes its result frees its memory, which the fake driver waits for, too.
TEST_F(Devices, CauseOneWaitBeforeAndOneAfter) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  OnDevice y(kX);
  const uint64_t stream = new_stream();
  for (const auto &[name, expected] : {std::pair("input", 2), std::pair("stream", 3)}) {
    DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(name));
    for (int i = 0; i < 4; i++) {
      const int64_t before = host_waits();
      ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}, stream), TESSERACT_OK) << call.failure.message;
      EXPECT_EQ(host_waits() - before, expected) << name << i;
    }
  }
}

TEST_F(Devices, OfOrderedModulesWaitForNothing) {
  const Component component("devices", kOrdered);
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  const OnDevice x(kX);
  OnDevice y(kX);
  const uint64_t stream = new_stream();
  for (const char *name : {"input", "call's stream", "stream"}) {
    DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(name));
    for (int i = 0; i < 3; i++) {
      const int64_t before = host_waits();
      ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}, stream), TESSERACT_OK) << call.failure.message;
      // cuMemFree of what the module made.
      EXPECT_LE(host_waits() - before, std::string(name) == "input" ? 0 : 1) << name;
      EXPECT_EQ(call.seen()["stream"], stream);
      fake_cuda_pump_all();
      EXPECT_EQ(y.values(), std::string(name) == "input" ? kX : kDoubled);
    }
  }
}

// What is asked of the driver where the module asks nothing and returns what is on the host.
TEST_F(Devices, CostTwoDriverCallsInOrderedModules) {
  const OnDevice x(kX);
  for (const std::string &options : {kOrdered, kDirect}) {
    const Component component("devices", options);
    DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y", false}}, {},
                    way("constant"));
    Vector here(4, 0.0);
    int64_t shape[1] = {4};
    DLTensor out = tesseract_float64(here.data(), 1, shape);
    const uint64_t stream = new_stream();
    for (int i = 0; i < 4; i++) {
      fake_cuda_reset_calls();
      ASSERT_EQ(call.run_bare({&x.tensor}, {&out}, stream), TESSERACT_OK);
    }
    EXPECT_EQ(here, Vector(4, 3.0));
    EXPECT_EQ(fake_cuda_calls("cuStreamSynchronize"), options == kDirect ? 1 : 0);
    if (options == kDirect) continue;
    EXPECT_EQ(fake_cuda_calls("cuCtxPushCurrent"), 1);
    EXPECT_EQ(fake_cuda_calls("cuCtxPopCurrent"), 1);
    EXPECT_EQ(fake_cuda_calls(nullptr), 2) << fake_cuda_trace();
  }
}

TEST_F(Devices, OfOrderedModulesMayBeCaptured) {
  const Component component("devices", kOrdered);
  const OnDevice x(kX);
  OnDevice y(Vector(4, 0.0));
  const uint64_t stream = new_stream();
  auto *handle = reinterpret_cast<void *>(stream);
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("input"));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}, stream), TESSERACT_OK) << call.failure.message;
  }
  fake_cuda_pump_all();
  int64_t captured = 0;
  {
    const Current current;
    ASSERT_EQ(fake_cuda_write(y.pointer(), Vector(4, 0.0).data(), 32), 0);
    ASSERT_EQ(fake_cuda_begin_capture(handle, 0), 0);
    EXPECT_EQ(call.run({&x.tensor}, {&y.tensor}, stream), TESSERACT_OK) << call.failure.message;
    EXPECT_EQ(fake_cuda_end_capture(handle, &captured), 0);
    EXPECT_EQ(captured, 1);
    EXPECT_EQ(y.values(), Vector(4, 0.0));
    EXPECT_EQ(fake_cuda_replay(handle), 0);
  }
  fake_cuda_pump_all();
  EXPECT_EQ(y.values(), kX);
}

TEST_F(Devices, OfOtherModulesMayNot) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  OnDevice y(kX);
  const uint64_t stream = new_stream();
  auto *handle = reinterpret_cast<void *>(stream);
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("input"));
  const Current current;
  for (int i = 0; i < 2; i++) {
    ASSERT_EQ(fake_cuda_begin_capture(handle, 0), 0);
    EXPECT_EQ(call.run({&x.tensor}, {&y.tensor}, stream), TESSERACT_ERROR_DEVICE);
    EXPECT_THAT(call.failure.message, testing::HasSubstr("captur"));
    int64_t captured = 0;
    EXPECT_EQ(fake_cuda_end_capture(handle, &captured), 0);
    ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}, stream), TESSERACT_OK) << call.failure.message;
  }
}

TEST_F(Devices, AreNotMovedWhereCopiesAreForbidden) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  OnDevice y(kX);
  DeviceCall to_host(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y", false}}, {},
                     way("device"), TESSERACT_NO_COPY);
  DeviceCall from_host(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("host"),
                       TESSERACT_NO_COPY);
  DeviceCall within(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("device"),
                    TESSERACT_NO_COPY);
  for (int i = 0; i < 3; i++) {
    for (DeviceCall *call : {&to_host, &from_host}) {
      EXPECT_EQ(call->run({&x.tensor}), TESSERACT_ERROR_DEVICE);
      EXPECT_THAT(call->failure.message, testing::HasSubstr("forbids"));
      EXPECT_EQ(call->failure.path, "y");
    }
    EXPECT_EQ(within.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << within.failure.message;
  }
  // Forbidden for one call, which another of the same signature isn't.
  DeviceCall either(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("host"));
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(either.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << either.failure.message;
    EXPECT_EQ(either.run({&x.tensor}, {&y.tensor}, 1, nullptr, TESSERACT_NO_COPY),
              TESSERACT_ERROR_DEVICE);
    EXPECT_EQ(either.failure.path, "y");
  }
}

TEST_F(Devices, MayHaveStrides) {
  const Component component("devices", kDirect);
  const OnDevice x({1.0, 2.0, 3.0, 4.0});
  // Every other element, which the description's layout does not take.
  DLTensor strided = x.tensor;
  int64_t shape[1] = {2}, strides[1] = {2};
  strided.shape = shape;
  strided.strides = strides;
  OnDevice y(Vector(2, 0.0));
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("input"));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(call.run({&strided}, {&y.tensor}), TESSERACT_OK) << call.failure.message;
    fake_cuda_pump_all();
    EXPECT_EQ(y.values(), (Vector{1.0, 3.0}));
  }
}

// ---- After the call ----------------------------------------------------------------------------

TEST_F(Devices, ThatAreKeptAreAnError) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  for (const char *name : {"keep", "keep dlpack"}) {
    DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(name));
    for (int i = 0; i < 3; i++) {
      OnDevice y(kX);
      EXPECT_EQ(call.run({&x.tensor}, {&y.tensor}), TESSERACT_ERROR_COMPONENT);
      EXPECT_THAT(call.failure.message, testing::HasSubstr("keeps this device array"));
      EXPECT_THAT(call.failure.message, testing::HasSubstr("apply"));
      EXPECT_EQ(call.failure.path, "x");
    }
  }
  DeviceCall forget(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("forget"));
  EXPECT_EQ(forget.run({&x.tensor}), TESSERACT_OK) << forget.failure.message;
}

TEST_F(Devices, ThatACycleHoldsAreCollected) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("cycle"));
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(call.run({&x.tensor}), TESSERACT_OK) << call.failure.message;
  }
}

TEST_F(Devices, ThatAreKeptMayBeAWarning) {
  const Component component("devices",
                            R"({"gpu_transport": "cuda_ipc", "device_escapes": "warning"})");
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  const OnDevice x(kX);
  DeviceCall keep(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("keep"));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(keep.run({&x.tensor}), TESSERACT_OK) << keep.failure.message;
  }
  EXPECT_THAT(component.log.lines, testing::HasSubstr("input x: the module keeps"));
  DeviceCall ask(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y", false}}, {}, way("ask kept"));
  ASSERT_EQ(ask.run({&x.tensor}), TESSERACT_OK) << ask.failure.message;
  EXPECT_EQ(ask.seen()["error"], "RevokedArrayError");
  DeviceCall kept(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("return kept"));
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(kept.run({&x.tensor}), TESSERACT_ERROR_COMPONENT);
    EXPECT_THAT(kept.failure.message, testing::HasSubstr("RevokedArrayError"));
  }
}

TEST_F(Devices, WithAnOwnerMayBeKept) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  int references = 0;
  const tesseract_owner owner = {&references, [](void *count) { ++*static_cast<int *>(count); },
                                 [](void *count) { --*static_cast<int *>(count); }};
  for (const char *name : {"keep", "keep dlpack"}) {
    DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(name));
    for (int i = 0; i < 2; i++) {
      EXPECT_EQ(call.run({&x.tensor}, {}, 1, &owner), TESSERACT_OK) << call.failure.message;
    }
  }
  EXPECT_EQ(references, 4);
  DeviceCall forget(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("forget"));
  EXPECT_EQ(forget.run({&x.tensor}), TESSERACT_OK) << forget.failure.message;
  EXPECT_EQ(references, 0);
}

TEST_F(Devices, ServeAgainWhereNothingKeepsThem) {
  const Component component("devices", kDirect);
  const OnDevice x(kX), other({5.0});
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("device"));
  for (const OnDevice *given : {&x, &x, &x, &other, &x}) {
    ASSERT_EQ(call.run({&given->tensor}), TESSERACT_OK) << call.failure.message;
    EXPECT_EQ(call.seen()["pointer"], given->pointer());
    EXPECT_EQ(call.seen()["shape"][0], given->values().size());
  }
}

TEST_F(Devices, AreReadOnlyWhereAskedFor) {
  const Component component("devices",
                            R"({"gpu_transport": "cuda_ipc", "device_read_only": true})");
  const OnDevice x(kX);
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}});
  ASSERT_EQ(call.run({&x.tensor}), TESSERACT_OK) << call.failure.message;
  EXPECT_EQ(call.seen()["read_only"], true);
}

TEST_F(Devices, OfAFailingModuleAreRevokedToo) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  DeviceCall fail(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("fail"));
  for (int i = 0; i < 3; i++) {
    EXPECT_EQ(fail.run({&x.tensor}), TESSERACT_ERROR_COMPONENT);
    EXPECT_THAT(fail.failure.message, testing::HasSubstr("not today"));
  }
}

TEST_F(Devices, AreComparedInDebugMode) {
  const Component component("devices", R"({"gpu_transport": "cuda_ipc", "debug_views": true})");
  const OnDevice x(kX);
  OnDevice y(kX);
  DeviceCall good(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("device"));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(good.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << good.failure.message;
    EXPECT_NE(good.seen()["pointer"], x.pointer());
    EXPECT_EQ(y.values(), kDoubled);
  }
  const auto given = good.seen()["pointer"].get<uint64_t>();
  double found = 0.0;
  EXPECT_EQ(fake_cuda_read(given, &found, 8), 0);
  EXPECT_TRUE(std::isnan(found));
  DeviceCall writes(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("write"));
  EXPECT_EQ(writes.run({&x.tensor}, {&y.tensor}), TESSERACT_ERROR_COMPONENT);
  EXPECT_THAT(writes.failure.message, testing::HasSubstr("was written to"));
  EXPECT_EQ(writes.failure.path, "x");
  EXPECT_EQ(x.values(), kX);
}

// ---- Failures ----------------------------------------------------------------------------------

// Every driver call of a call fails in turn.
TEST_F(Devices, SurviveFailingDrivers) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  OnDevice y(kX);
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("stream"));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << call.failure.message;
  }
  for (int64_t n = 1; n < 200; n++) {
    fake_cuda_clear();
    fake_cuda_fail_nth(n, 999);
    const int32_t status = call.run({&x.tensor}, {&y.tensor});
    const bool was_hit = fake_cuda_failed() > 0;
    fake_cuda_fail_nth(0, 0);
    if (!was_hit) {
      EXPECT_EQ(status, TESSERACT_OK);
      break;
    }
    fake_cuda_pump_all();
    if (status != TESSERACT_OK) {
      EXPECT_FALSE(call.failure.message.empty());
    }
  }
  fake_cuda_clear();
  ASSERT_EQ(call.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << call.failure.message;
  fake_cuda_pump_all();
  EXPECT_EQ(y.values(), kDoubled);
}

TEST(DeviceOptions, AreChecked) {
  for (const char *options : {R"({"stream_ordered": true})", R"({"device_read_only": true})",
                              R"({"device_escapes": "warning"})",
                              R"({"gpu_transport": "cuda_ipc", "stream_ordered": 1.5})",
                              R"({"gpu_transport": "cuda_ipc", "stream_ordered": 1})",
                              R"({"gpu_transport": "cuda_ipc", "device_read_only": 0.0})",
                              R"({"gpu_transport": "cuda_ipc", "device_escapes": []})",
                              R"({"gpu_transport": "cuda_ipc", "device_escapes": "never"})"}) {
    const Component component("devices", options);
    EXPECT_EQ(component.opened.status, TESSERACT_ERROR_INVALID_ARGUMENT) << options;
  }
}

}  // namespace
}  // namespace loader_test
