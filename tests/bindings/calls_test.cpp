// The C++ wrapper: components, calls, results and errors, through the library.
#include <gtest/gtest.h>
#include <tesseract_host/tesseract.hpp>

#include <unistd.h>

#include <array>
#include <cstddef>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "allocations.h"

namespace {

using tesseract::all;
using tesseract::Component;
using tesseract::Json;

// The force -c |v| v, see examples/plugin-c.
Component drag() {
  return Component(DRAG);
}

Component behaviours(const tesseract::OpenOptions &options = {}) {
  return Component(BEHAVIOURS, options);
}

// The Error that `body` throws, of status TESSERACT_OK where it throws none.
template <class Body>
tesseract::Error error_of(Body body) {
  try {
    body();
  } catch (const tesseract::Error &error) {
    return error;
  }
  return tesseract::Error(TESSERACT_OK, "no error was thrown");
}

template <class T>
std::vector<T> elements(const tesseract::View<const T> &view) {
  return {view.span().begin(), view.span().end()};
}

using Doubles = std::vector<double>;
const Doubles v{1.0, -2.0, 3.0};
const Doubles ones{1.0, 1.0, 1.0};

// ---- Opening ------------------------------------------------------------------------------------

TEST(Open, GivesTheTextsOfTheComponent) {
  const auto component = drag();
  EXPECT_EQ(component.name(), "drag");
  EXPECT_NE(component.description().find("\"force\""), std::string_view::npos);
  EXPECT_NE(component.openapi().find("\"openapi\""), std::string_view::npos);
}

TEST(Open, ThrowsNotFoundForNoSuchFile) {
  const auto error = error_of([] { Component("/nowhere/libnothing.so"); });
  EXPECT_EQ(error.status(), TESSERACT_ERROR_NOT_FOUND);
  EXPECT_NE(std::string(error.what()).find("/nowhere/libnothing.so"), std::string::npos);
}

TEST(Open, HandsOptionsToTheConstructorOfTheComponent) {
  const auto error = error_of([] { behaviours({.json = R"({"refuse": true})"}); });
  EXPECT_EQ(error.status(), TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_NE(std::string(error.what()).find("refused by the constructor"), std::string::npos);
}

TEST(Open, ListingReadsTheDescriptionBesideTheLibrary) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("tesseract-bindings-" + std::to_string(getpid()));
  std::filesystem::create_directory(folder);
  const auto library = folder / "listed.so";
  std::filesystem::copy_file(DRAG, library);
  std::ofstream(library.string() + ".json") << R"({"name": "listed", "inputs": [], "outputs": []})";
  {
    const Component component(library.string(), {.listing = true});
    EXPECT_EQ(component.name(), "listed");
    EXPECT_NE(error_of([&] { component.apply({}); }).status(), TESSERACT_OK);
  }
  std::filesystem::remove_all(folder);
}

TEST(Open, MovedComponentsStayUsable) {
  auto first = drag();
  const Component second(std::move(first));
  EXPECT_EQ(second.apply({{"v", v}}).size(), 1);
}

TEST(Log, ReceivesLinesAndIsFreedWithTheComponent) {
  const auto lines = std::make_shared<std::vector<std::string>>();
  {
    const auto component = behaviours({.log = [lines](std::int32_t level, std::string_view text) {
      lines->push_back(std::to_string(level) + " " + std::string(text));
    }});
    component.apply({{"x", v}, Json{R"({"behaviour": "log"})"}});
    EXPECT_GT(lines.use_count(), 1);
  }
  EXPECT_EQ(*lines, (std::vector<std::string>{"3 a line"}));
  EXPECT_EQ(lines.use_count(), 1);
}

TEST(Log, IsFreedWhenOpeningFails) {
  const auto mark = std::make_shared<int>(0);
  const auto log = [mark](std::int32_t, std::string_view) {};
  error_of([&] { Component("/nowhere/libnothing.so", {.log = log}); });
  error_of([&] { behaviours({.json = R"({"refuse": true})", .log = log}); });
  EXPECT_EQ(mark.use_count(), 2);  // here and in `log`
}

TEST(Log, ThatThrowsDoesNoHarm) {
  const auto component = behaviours({.log = [](std::int32_t, std::string_view) { throw 1; }});
  const auto result = component.apply({{"x", v}, Json{R"({"behaviour": "log"})"}});
  EXPECT_EQ(elements(result.view<double>("y")), (Doubles{2, -4, 6}));
}

// ---- One-shot calls -----------------------------------------------------------------------------

TEST(Apply, TakesVectorsNumbersAndDefaults) {
  const auto component = drag();
  EXPECT_EQ(elements(component.apply({{"v", v}}).view<double>("force")),
            (Doubles{-0.5, 2.0, -4.5}));
  EXPECT_EQ(elements(component.apply({{"v", v}, {"c", 1.0}}).view<double>(0)),
            (Doubles{-1.0, 4.0, -9.0}));
}

TEST(Apply, TakesArraysInTheJson) {
  const auto component = drag();
  const auto result = component.apply({Json{R"({"v": [1, 2], "c": 1})"}});
  EXPECT_EQ(elements(result.view<double>("force")), (Doubles{-1.0, -4.0}));
}

TEST(Apply, TakesListsThatAreBuiltAtRunTime) {
  const auto component = drag();
  std::vector<tesseract::Leaf> inputs{{"v", v}};
  inputs.emplace_back("c", 1.0);
  const std::vector<tesseract::Want> of{"force"};
  const auto result = component.apply(inputs, of);
  EXPECT_EQ(elements(result.view<double>("force")), (Doubles{-1.0, 4.0, -9.0}));
}

TEST(Apply, WritesToDestinations) {
  const auto component = drag();
  std::array<double, 3> force{};
  const auto result = component.apply({{"v", v}}, {{"force", force}});
  EXPECT_EQ(force, (std::array<double, 3>{-0.5, 2.0, -4.5}));
  EXPECT_EQ(result.view<double>("force").data(), force.data());
}

TEST(Apply, OfAnEmptyListComputesNoArrays) {
  const auto component = drag();
  EXPECT_EQ(component.apply({{"v", v}}, {}).size(), 0);
}

TEST(Apply, ConvertsStridesUnlessToldNotTo) {
  const auto component = drag();
  const Doubles every_other{1, 0, -2, 0, 3, 0};
  const tesseract::Tensor strided(every_other.data(), {3}, {2});
  EXPECT_EQ(elements(component.apply({{"v", strided}}).view<double>("force")),
            (Doubles{-0.5, 2.0, -4.5}));
  EXPECT_EQ(component.statistics().layout_copies, 1u);
  EXPECT_NE(error_of([&] { component.apply({{"v", strided}}, all, {.no_copy = true}); }).status(),
            TESSERACT_OK);
}

TEST(Apply, RefusesTwoJsonTexts) {
  const auto component = drag();
  EXPECT_EQ(error_of([&] { component.apply({Json{"{}"}, Json{"{}"}}); }).status(),
            TESSERACT_ERROR_INVALID_ARGUMENT);
}

TEST(Derivatives, AreThoseAskedFor) {
  const auto component = drag();
  const auto tangent = component.jvp({{"v", v}}, {{"v", ones}}, {"force"});
  EXPECT_EQ(elements(tangent.view<double>("force")), (Doubles{-1.0, -2.0, -3.0}));

  const auto gradients = component.vjp({{"v", v}, {"c", 0.5}}, {{"force", ones}});
  EXPECT_EQ(gradients.size(), 2);
  EXPECT_EQ(elements(gradients.view<double>("v")), (Doubles{-1.0, -2.0, -3.0}));
  EXPECT_EQ(gradients.view<double>("c")(), -6.0);

  double by_c = 0;
  component.vjp({{"v", v}, {"c", 0.5}}, {{"force", ones}}, {{"c", by_c}});
  EXPECT_EQ(by_c, -6.0);
  EXPECT_NE(error_of([&] { component.vjp({{"v", v}}, {{"force", ones}}, {}); }).status(),
            TESSERACT_OK);
}

TEST(Derivatives, OfAJacobianAreFoundByBothPaths) {
  const auto component = drag();
  const auto result = component.jacobian({{"v", v}, {"c", 0.5}}, {"force"}, {"c", "v"});
  EXPECT_EQ(result.size(), 2);
  EXPECT_EQ(result.find("force", "v"), 1);
  EXPECT_EQ(result.find("force", "force"), -1);
  EXPECT_EQ(result.wrt(0), "c");
  const auto by_v = result.view<double>("force", "v");
  EXPECT_EQ(by_v.shape().size(), 2u);
  EXPECT_EQ(by_v(1, 1), -2.0);
  EXPECT_EQ(by_v(1, 0), 0.0);
  EXPECT_EQ(elements(result.view<double>("force", "c")), (Doubles{-1.0, 4.0, -9.0}));
}

TEST(AbstractEval, GivesShapesOfInputsWithoutData) {
  const auto component = drag();
  const tesseract::Tensor shape_only(static_cast<const double *>(nullptr), {5});
  const auto result = component.abstract_eval({{"v", shape_only}});
  EXPECT_EQ(result.tensor("force").shape[0], 5);
  EXPECT_EQ(result.tensor("force").data, nullptr);
}

// ---- Results ------------------------------------------------------------------------------------

TEST(Results, HoldWhatIsNoArray) {
  const auto component = behaviours();
  const auto result = component.apply({{"x", v}});
  EXPECT_NE(result.json().find("double"), std::string_view::npos);
  EXPECT_EQ(result.find("nothing"), -1);
  EXPECT_EQ(result.path(99), "");
  EXPECT_EQ(error_of([&] { result.view<double>("nothing"); }).status(), TESSERACT_ERROR_NOT_FOUND);
  EXPECT_EQ(error_of([&] { result.view<float>("y"); }).status(), TESSERACT_ERROR_SCHEMA);
}

TEST(Results, TensorsTakenOutliveEverything) {
  tesseract::Taken taken;
  {
    const auto component = drag();
    auto result = component.apply({{"v", v}});
    taken = result.take("force");
    EXPECT_EQ(error_of([&] { result.tensor(0); }).status(), TESSERACT_ERROR_NOT_FOUND);
    EXPECT_EQ(error_of([&] { result.take("force"); }).status(), TESSERACT_ERROR_INVALID_ARGUMENT);
  }
  const tesseract::View<const double> view(taken->dl_tensor);
  EXPECT_EQ(elements(view), (Doubles{-0.5, 2.0, -4.5}));
}

TEST(Results, TensorsWithADestinationAreNotTaken) {
  const auto component = drag();
  Doubles force(3);
  auto result = component.apply({{"v", v}}, {{"force", force}});
  EXPECT_EQ(error_of([&] { result.take(0); }).status(), TESSERACT_ERROR_INVALID_ARGUMENT);
}

// ---- Errors -------------------------------------------------------------------------------------

TEST(Errors, NameComponentEndpointAndPath) {
  const auto component = drag();
  const auto error = error_of([&] { component.apply({{"v", {v.data(), {3, 1}}}}); });
  EXPECT_EQ(error.status(), TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(error.path(), "v");
  EXPECT_EQ(error.component(), "drag");
  EXPECT_EQ(error.endpoint(), "apply");
  EXPECT_EQ(error.cause(), nullptr);
  EXPECT_EQ(error_of([&] { component.apply({{"v", v}, {"w", v}}); }).path(), "w");
  EXPECT_EQ(component.apply({{"v", v}}).size(), 1);  // usable afterwards
}

TEST(Errors, OutOfDomainHasATypeOfItsOwn) {
  const auto component = drag();
  EXPECT_THROW(component.apply({{"v", v}, {"c", -1.0}}), tesseract::OutOfDomain);
}

// ---- Prepared calls -----------------------------------------------------------------------------

TEST(Prepared, RunsOnNewContentsOfBoundArrays) {
  const auto component = drag();
  std::array<double, 2> speed{1, 2}, force{};
  double c = 1;
  const auto call = component.prepare_apply({"v", "c"});
  EXPECT_EQ(call.inputs(), 2u);
  EXPECT_EQ(call.outputs(), 1u);
  auto bound = call.bind({speed, tesseract::Tensor(&c, {})}, {force});
  const auto moved = std::move(bound);
  moved.run();
  EXPECT_EQ(force, (std::array<double, 2>{-1, -4}));
  speed = {3, 0};
  c = 2;
  moved.run();
  EXPECT_EQ(force, (std::array<double, 2>{-18, 0}));
}

TEST(Prepared, RunsAllocateNothing) {
  const auto component = drag();
  Doubles force(3);
  const auto call = component.prepare_apply({"v"});
  const auto bound = call.bind({v}, {force});
  bound.run();
  const auto before = allocations();
  EXPECT_GT(before, 0u);
  for (int i = 0; i < 10; ++i) bound.run();
  EXPECT_EQ(allocations(), before);
}

TEST(Prepared, CallsOutliveTheirComponent) {
  auto component = std::make_unique<Component>(DRAG);
  const auto call = component->prepare_apply({"v"});
  component.reset();
  Doubles force(3);
  call.bind({v}, {force}).run();
  EXPECT_EQ(force, (Doubles{-0.5, 2.0, -4.5}));
}

TEST(Prepared, DerivativesTakeInputsThenSeeds) {
  const auto component = drag();
  Doubles result(3);
  double by_c = 0;
  component.prepare_jvp({"v"}, {"v"}).bind({v, ones}, {result}).run();
  EXPECT_EQ(result, (Doubles{-1.0, -2.0, -3.0}));
  component.prepare_vjp({"v", "c"}, {"force"}, {"c", "v"})
      .bind({v, 0.5, ones}, {by_c, result})
      .run();
  EXPECT_EQ(result, (Doubles{-1.0, -2.0, -3.0}));
  EXPECT_EQ(by_c, -6.0);
  const auto jacobian = component.prepare_jacobian({"v", "c"}, {"force"}, {"v", "c"});
  EXPECT_EQ(jacobian.outputs(), 2u);
}

TEST(Prepared, EvaluatesWithoutDestinations) {
  const auto component = behaviours();
  const auto call = component.prepare_apply({"x"});
  const tesseract::Tensor x(v);
  const DLTensor *in[] = {x.get()};
  DLTensor *out[] = {nullptr, nullptr};
  const auto result = call.evaluate(in, out);
  EXPECT_EQ(elements(result.view<double>("y")), (Doubles{2, -4, 6}));
  EXPECT_EQ(result.view<std::int32_t>("grown")(1, 2), 12);
  EXPECT_NE(result.json(), "{}");
}

TEST(Prepared, RefusesAnotherNumberOfTensors) {
  const auto component = drag();
  const auto call = component.prepare_apply({"v"});
  Doubles force(3);
  EXPECT_EQ(error_of([&] { call.bind({}, {force}); }).status(), TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error_of([&] { call.run({}, {}); }).status(), TESSERACT_ERROR_INVALID_ARGUMENT);
}

TEST(Prepared, ChecksShapesAtEachRun) {
  const auto component = drag();
  const auto call = component.prepare_apply({"v"});
  Doubles force(2);
  const auto error = error_of([&] { call.bind({v}, {force}).run(); });
  EXPECT_EQ(error.status(), TESSERACT_ERROR_SCHEMA);
  EXPECT_EQ(error.path(), "force");
}

// ---- Components written with plugin.hpp ---------------------------------------------------------

struct Thrown {
  const char *behaviour;
  std::int32_t status;
  const char *text;
  const char *path;
};

class Exceptions : public testing::TestWithParam<Thrown> {};

TEST_P(Exceptions, BecomeStatuses) {
  const auto component = behaviours();
  const std::string json = std::string(R"({"behaviour": ")") + GetParam().behaviour + "\"}";
  const auto error = error_of([&] { component.apply({{"x", v}, Json{json}}); });
  EXPECT_EQ(error.status(), GetParam().status);
  EXPECT_EQ(error.path(), GetParam().path);
  EXPECT_NE(std::string(error.what()).find(GetParam().text), std::string::npos) << error.what();
  EXPECT_EQ(elements(component.apply({{"x", v}}).view<double>("y")), (Doubles{2, -4, 6}));
}

INSTANTIATE_TEST_SUITE_P(
    Plugin, Exceptions,
    testing::Values(Thrown{"domain", TESSERACT_ERROR_OUT_OF_DOMAIN, "not there", "x"},
                    Thrown{"schema", TESSERACT_ERROR_SCHEMA, "odd", "x"},
                    Thrown{"standard", TESSERACT_ERROR_COMPONENT, "something standard", ""},
                    Thrown{"memory", TESSERACT_ERROR_OUT_OF_MEMORY, "", ""},
                    Thrown{"number", TESSERACT_ERROR_COMPONENT, "exception", ""},
                    Thrown{"dtype", TESSERACT_ERROR_SCHEMA, "float64", ""},
                    Thrown{"position", TESSERACT_ERROR_COMPONENT, "output 7 of 2", ""}),
    [](const auto &instance) { return instance.param.behaviour; });

TEST(Plugin, WithoutOptionsRefusesThem) {
  // Drag in C++ has no constructor for options.
  EXPECT_EQ(error_of([] { Component(DRAG_CPP, {.json = R"({"k": 1})"}); }).status(),
            TESSERACT_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(Component(DRAG_CPP, {.json = " { } "}).name(), "drag");
}

TEST(Plugin, StopsWhenCancelled) {
  const auto component = behaviours();
  const tesseract::Cancel cancel;
  std::thread caller([&] {
    const auto error = error_of([&] {
      component.apply({{"x", v}, Json{R"({"behaviour": "wait"})"}}, all, {.cancel = &cancel});
    });
    EXPECT_EQ(error.status(), TESSERACT_ERROR_CANCELLED);
  });
  cancel.request();
  caller.join();
}

}  // namespace
