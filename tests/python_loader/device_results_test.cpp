// Arrays in device memory that Python modules return, on the fake driver.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <thread>

#include "device.h"

namespace loader_test {
namespace {

// What a module returns, and what the caller then has of x = 1, 2, 3, 4.
struct Returned {
  const char *way;
  Vector expected;
};

class DeviceResults : public Devices, public testing::WithParamInterface<Returned> {};

TEST_P(DeviceResults, GoWhereTheCallerWantsThem) {
  const Component component("devices", kDirect);
  ASSERT_EQ(component.opened.status, TESSERACT_OK) << component.opened.message;
  const OnDevice x(kX);
  const auto &[name, expected] = GetParam();
  for (const bool on_device : {true, false}) {
    for (const bool given : {true, false}) {
      DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y", on_device}}, {},
                      way(name));
      OnDevice there(Vector(expected.size(), -1.0));
      Vector here(expected.size(), -1.0);
      int64_t shape[1] = {static_cast<int64_t>(here.size())};
      DLTensor host = tesseract_float64(here.data(), 1, shape);
      for (int i = 0; i < 3; i++) {
        const uint64_t stream = new_stream();
        std::vector<DLTensor *> out;
        if (given) out.push_back(on_device ? &there.tensor : &host);
        ASSERT_EQ(call.run({&x.tensor}, out, stream), TESSERACT_OK) << call.failure.message;
        fake_cuda_pump_all();
        ASSERT_NE(call.output(), nullptr);
        EXPECT_EQ(call.output()->device.device_type, on_device ? kDLCUDA : kDLCPU);
        if (on_device) {
          EXPECT_EQ(call.values(), expected) << i << given;
        } else {
          const auto *data = static_cast<const double *>(call.output()->data);
          EXPECT_EQ(Vector(data, data + expected.size()), expected) << i << given;
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, DeviceResults,
    testing::Values(Returned{"device", kDoubled}, Returned{"instance", kDoubled},
                    Returned{"stream", kDoubled}, Returned{"host", kDoubled}, Returned{"input", kX},
                    Returned{"part of input", {2.0, 3.0, 4.0}}, Returned{"managed", kDoubled},
                    Returned{"pinned", kDoubled}, Returned{"reversed", {8.0, 6.0, 4.0, 2.0}},
                    Returned{"dlpack", kX}),
    [](const auto &tested) {
      std::string name = tested.param.way;
      std::replace(name.begin(), name.end(), ' ', '_');
      return name;
    });

// ---- Bad results -------------------------------------------------------------------------------

struct Bad {
  const char *way;
  const char *reason;
};

class BadDeviceResults : public Devices, public testing::WithParamInterface<Bad> {};

TEST_P(BadDeviceResults, AreErrorsOfTheComponent) {
  const Component component("devices", kDirect);
  const OnDevice x(kX);
  DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(GetParam().way));
  DeviceCall good(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("device"));
  OnDevice y(kX);
  for (int i = 0; i < 3; i++) {
    EXPECT_NE(call.run({&x.tensor}, {&y.tensor}), TESSERACT_OK);
    EXPECT_THAT(call.failure.message, testing::HasSubstr(GetParam().reason));
    ASSERT_EQ(good.run({&x.tensor}, {&y.tensor}), TESSERACT_OK) << good.failure.message;
    fake_cuda_pump_all();
    EXPECT_EQ(y.values(), kDoubled);
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadDeviceResults,
    testing::Values(
        Bad{"wrong size", "shape"}, Bad{"freed", "knows no memory"},
        Bad{"too large", "knows no memory"}, Bad{"claim {}", "knows no memory"},
        Bad{"claim dict(data=(0, False))", "null pointer"}, Bad{"claim dict(data=8)", "data"},
        Bad{"claim dict(data=('8', False))", "pointer"}, Bad{"claim dict(shape=4)", "shape"},
        Bad{"claim dict(shape=(-4,))", "length"}, Bad{"claim dict(shape=(2**62, 2**62))", ""},
        Bad{"claim dict(shape=('4',))", ""}, Bad{"claim dict(typestr='<f4')", "float32"},
        Bad{"claim dict(typestr='>f8')", "typestr"}, Bad{"claim dict(typestr=None)", "typestr"},
        Bad{"claim dict(strides=(3,))", "stride"}, Bad{"claim dict(strides=(2**60,))", "stride"},
        Bad{"claim dict(strides=(8, 8))", "strides"}, Bad{"claim dict(stream=0)", "stream"},
        Bad{"claim dict(mask=(1,))", "mask"}),
    [](const auto &tested) {
      std::string name = tested.param.way;
      std::replace_if(
          name.begin(), name.end(), [](unsigned char c) { return !std::isalnum(c); }, '_');
      return name;
    });

TEST_F(Devices, OfAnotherDeviceAreRefusedOrCopiedToTheHost) {
  const Component component("devices", kDirect);
  const OnDevice x(kX), other(kX, {}, 1);
  const std::string claim = "claim dict(data=(" + std::to_string(other.pointer()) + ", False))";
  DeviceCall there(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(claim));
  DeviceCall here(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y", false}}, {}, way(claim));
  for (int i = 0; i < 2; i++) {
    EXPECT_EQ(there.run({&x.tensor}), TESSERACT_ERROR_COMPONENT);
    EXPECT_THAT(there.failure.message, testing::HasSubstr("device 1"));
    ASSERT_EQ(here.run({&x.tensor}), TESSERACT_OK) << here.failure.message;
    const auto *data = static_cast<const double *>(here.output()->data);
    EXPECT_EQ(Vector(data, data + 4), kX);
  }
}

// ---- Numba -------------------------------------------------------------------------------------

class WithNumba : public Devices {
 protected:
  WithNumba() : component("numba_arrays", kDirect) {
    if (component.opened.status == TESSERACT_OK) return;
    missing = component.opened.message.find("numba") != std::string::npos;
    EXPECT_TRUE(missing) << component.opened.message;
  }
  void SetUp() override {
    if (missing) GTEST_SKIP() << "there is no Numba for the tested Python";
  }

  static uint64_t address(const DeviceCall &call) {
    return reinterpret_cast<uint64_t>(call.output()->data);
  }

  // Numba frees memory in batches, which may be whenever an array dies, when the component closes,
  // say, and needs a context for it.
  const Current context;
  bool missing = false;
  const Component component;
};

TEST_F(WithNumba, ResultsAreHandedOverWhereNothingElseHasThem) {
  const OnDevice x(kX);
  for (const char *name : {"device", "kept", "kept view"}) {
    DeviceCall call(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way(name));
    for (int i = 0; i < 3; i++) {
      ASSERT_EQ(call.run({&x.tensor}), TESSERACT_OK) << call.failure.message;
      const nlohmann::json values = call.document();
      EXPECT_EQ(values["given"], x.pointer());
      EXPECT_EQ(values["pointer"] == address(call), std::string(name) == "device") << i;
      fake_cuda_pump_all();
      EXPECT_EQ(call.values(), kX);
      DLManagedTensorVersioned *taken = nullptr;
      ASSERT_EQ(tesseract_result_take(call.result(), 0, &taken), TESSERACT_OK);
      std::thread([&] {
        const Current current;
        taken->deleter(taken);
      }).join();
    }
  }
}

TEST_F(WithNumba, InputsMayBeReturnedButNotKept) {
  const OnDevice x(kX);
  DeviceCall input(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("input"));
  DeviceCall kept(component, TESSERACT_ENDPOINT_APPLY, {{"x"}}, {{"y"}}, {}, way("input kept"));
  for (int i = 0; i < 3; i++) {
    ASSERT_EQ(input.run({&x.tensor}), TESSERACT_OK) << input.failure.message;
    EXPECT_NE(address(input), x.pointer());
    fake_cuda_pump_all();
    EXPECT_EQ(input.values(), kX);
    EXPECT_EQ(kept.run({&x.tensor}), TESSERACT_ERROR_COMPONENT);
    EXPECT_EQ(kept.failure.path, "x");
  }
}

}  // namespace
}  // namespace loader_test
