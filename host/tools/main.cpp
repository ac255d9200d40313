// tesseract-host: looks at components, calls them, checks and times them from the shell.
//
// Exit status: 0 success, 1 failure (with a message on standard error), 2 wrong usage.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "../error.h"
#include "commands.h"

namespace {

void add_source(CLI::App &command, tool::Source &source) {
  command
      .add_option("source", source.text,
                  "a shared library, a tesseract_api.py, or a folder that holds one")
      ->required();
  command.add_option("--options", source.options, "options of the component, a JSON object")
      ->type_name("JSON");
  command.add_flag("--verbose", source.verbose, "show debug messages of the component too");
}

void add_inputs(CLI::App &command, std::string &inputs) {
  command
      .add_option("inputs", inputs, "file with the inputs as one JSON object; -: standard input")
      ->capture_default_str();
}

void add_config(CLI::App &app, int &status) {
  auto &command = *app.add_subcommand("config", "tell how to compile and link against the library");
  auto options = std::make_shared<tool::ConfigOptions>();
  command.add_flag("--cflags", options->cflags, "flags for the compiler");
  command.add_flag("--libs", options->libs, "flags for the linker, run path included");
  command.add_flag("--cmakedir", options->cmakedir, "folder for CMake's tesseract-host_DIR");
  command.add_flag("--pkgconfigdir", options->pkgconfigdir, "folder for PKG_CONFIG_PATH");
  command.add_flag("--prefix", options->prefix, "folder that everything is installed in");
  command.add_flag("--version", options->version, "release of the library");
  command.require_option(1, 0);
  command.callback([options, &status] { status = tool::config(*options); });
}

void add_inspect(CLI::App &app, int &status) {
  auto &command = *app.add_subcommand("inspect", "show a component's inputs, outputs, endpoints");
  auto options = std::make_shared<tool::InspectOptions>();
  add_source(command, options->source);
  command.add_flag("--listing", options->source.listing, "run no code of the source");
  auto *json = command.add_flag("--json", options->json, "print the description as JSON");
  command.add_flag("--openapi", options->openapi, "print the OpenAPI schema")->excludes(json);
  command.callback([options, &status] { status = tool::inspect(*options); });
}

void add_apply(CLI::App &app, int &status) {
  auto &command = *app.add_subcommand("apply", "call a component and print its outputs as JSON");
  auto options = std::make_shared<tool::ApplyOptions>();
  add_source(command, options->source);
  add_inputs(command, options->inputs);
  command.callback([options, &status] { status = tool::apply(*options); });
}

void add_check(CLI::App &app, int &status) {
  auto &command = *app.add_subcommand(
      "check", "compare a component's derivatives with each other and with finite differences");
  auto options = std::make_shared<tool::CheckOptions>();
  add_source(command, options->source);
  add_inputs(command, options->inputs);
  command
      .add_option("--tolerance", options->tolerance,
                  "relative, against finite differences; default: 1e-5, 2e-2 below float64")
      ->check(CLI::PositiveNumber);
  command.add_option("--seed", options->seed, "of the random directions")->capture_default_str();
  command.callback([options, &status] { status = tool::check_derivatives(*options); });
}

void add_bench(CLI::App &app, int &status) {
  auto &command = *app.add_subcommand(
      "bench", "time opening a component and calling its apply, one-shot and prepared");
  auto options = std::make_shared<tool::BenchOptions>();
  add_source(command, options->source);
  add_inputs(command, options->inputs);
  command.add_option("--seconds", options->seconds, "to spend on each kind of call")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.callback([options, &status] { status = tool::bench(*options); });
}

int failed(const char *message, const std::string &traceback = {}) {
  std::fprintf(stderr, "tesseract-host: %s\n", message);
  if (!traceback.empty()) std::fprintf(stderr, "\n%s\n", traceback.c_str());
  return 1;
}

}  // namespace

int main(int argc, char **argv) {
  CLI::App app("Loads differentiable components into this process and calls them.",
               "tesseract-host");
  app.set_version_flag("--version", tesseract_host_version());
  app.require_subcommand(1);
  int status = 0;
  add_config(app, status);
  add_inspect(app, status);
  add_apply(app, status);
  add_check(app, status);
  add_bench(app, status);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError &wrong) {
    return app.exit(wrong) == 0 ? 0 : 2;
  } catch (const tesseract::Error &error) {
    return failed(error.what(), error.traceback());
  } catch (const host::Failure &failure) {
    return failed(failure.message.c_str());
  } catch (const std::exception &failure) {
    return failed(failure.what());
  }
  return status;
}
