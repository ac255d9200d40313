// Which interpreter a C program gets, and what it is told when there is none.
#include "program.h"

namespace loader_test {
namespace {

using testing::HasSubstr;

Variables with(const std::string &name, const std::string &value) {
  Variables variables = clean_variables();
  variables[name] = value;
  return variables;
}

// The prefix that the module reports.
Outcome where(const Variables &variables, const std::string &options = "{}") {
  return embed({"json", module_path("environment"), options}, variables);
}

std::string prefix_text(const Environment &environment) {
  return "\"" + environment.folder() + "\"";
}

TEST(Environments, OpensAModuleFromAProgramWithoutPython) {
  const Outcome run = embed({"call", module_path("scale")});
  EXPECT_EQ(run.code, 0);
  EXPECT_THAT(run.output, HasSubstr("y = 2 8 18\n"));
  EXPECT_THAT(run.output, HasSubstr("from C"));
  EXPECT_THAT(run.output, HasSubstr("dx = 4 8 12\n"));
}

// The packages of the environment are not the module's, though they lie in its folder.
TEST(Environments, MayLieInTheModulesFolder) {
  namespace fs = std::filesystem;
  const Environment environment(true);
  const fs::path package = environment.packages / "thirdparty";
  fs::create_directory(package);
  std::ofstream(package / "__init__.py") << "";
  std::ofstream(environment.path / "helper.py") << "";
  std::ofstream(environment.path / "tesseract_api.py")
      << "import helper, thirdparty, numpy\n"
         "from pydantic import BaseModel\n"
         "class InputSchema(BaseModel): pass\n"
         "class OutputSchema(BaseModel): names: list[str]\n"
         "def apply(inputs):\n"
         "    modules = (thirdparty, numpy, helper)\n"
         "    return {'names': [m.__name__[:11] for m in modules]}\n";
  const Outcome run =
      embed({"json", environment.folder()}, with("VIRTUAL_ENV", environment.folder()));
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("[\"thirdparty\",\"numpy\",\"tsr_plugins\"]"));
}

TEST(Environments, OptionNamesAnInterpreter) {
  const Environment environment(true);
  const Outcome run =
      where(with("VIRTUAL_ENV", "/nowhere"), "{\"python\": \"" + environment.python() + "\"}");
  EXPECT_THAT(run.output, HasSubstr(prefix_text(environment)));
}

TEST(Environments, OptionNamesAnEnvironment) {
  const Environment environment(true);
  const Outcome run = where(clean_variables(), "{\"python\": \"" + environment.folder() + "\"}");
  EXPECT_THAT(run.output, HasSubstr(prefix_text(environment)));
}

TEST(Environments, VariablesComeInTheirOrder) {
  const Environment first(true), second(true), third(true);
  Variables variables = clean_variables();
  variables["CONDA_PREFIX"] = third.folder();
  EXPECT_THAT(where(variables).output, HasSubstr(prefix_text(third)));
  variables["VIRTUAL_ENV"] = second.folder();
  EXPECT_THAT(where(variables).output, HasSubstr(prefix_text(second)));
  variables["TESSERACT_HOST_PYTHON"] = first.python();
  EXPECT_THAT(where(variables).output, HasSubstr(prefix_text(first)));
}

TEST(Environments, PathComesLast) {
  const Environment environment(true);
  const Outcome run = where(with("PATH", environment.folder() + "/bin:" + std::getenv("PATH")));
  EXPECT_THAT(run.output, HasSubstr(prefix_text(environment)));
}

// As a wheel installs it, all in one package; nothing else says where Python is.
TEST(Environments, TheOneThatHoldsTheLoaderIsFound) {
  namespace fs = std::filesystem;
  const Environment environment(true);
  const fs::path package = environment.packages / "tesseract_host";
  const fs::path libraries = package / "lib" / "tesseract_host";
  const fs::path built = fs::path(std::getenv("BOOTSTRAP")).parent_path();
  fs::copy(std::getenv("PACKAGE"), package, fs::copy_options::recursive);
  fs::create_directories(libraries);
  for (const auto &entry : fs::directory_iterator(built)) {
    if (entry.path().extension() == ".so") fs::copy(entry.path(), libraries);
  }
  Variables variables = with("PATH", "/usr/bin:/bin");
  variables["TESSERACT_HOST_LOADER_PATH"] = libraries.string();
  const Outcome run = where(variables);
  EXPECT_THAT(run.output, HasSubstr(prefix_text(environment)));
}

TEST(Environments, TheFolderOfTheProgramIsNotSearchedForModules) {
  const Outcome run = embed({"json", module_path("environment")});
  EXPECT_THAT(run.output, testing::Not(HasSubstr("\"\"")));
  EXPECT_THAT(run.output, testing::Not(HasSubstr(module_path(""))));
}

TEST(Environments, ALibraryThatWasLoadedPrivatelyIsUsed) {
  const Outcome run = embed({"local", module_path("scale"), "{}", library_of_tested_python()});
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("y = 2 8 18\n"));
}

TEST(Environments, APythonThatRunsAlreadyIsJoined) {
  Variables variables = with("TESSERACT_HOST_PYTHON", "/nowhere");
  variables["PYTHONPATH"] = ask_python("sysconfig.get_path('purelib')");
  const Outcome run =
      embed({"started", module_path("scale"), "{}", library_of_tested_python()}, variables);
  EXPECT_EQ(run.code, 0) << run.output;
  EXPECT_THAT(run.output, HasSubstr("y = 2 8 18\n"));
}

TEST(Errors, NameTheMissingInterpreterAndItsRule) {
  const Outcome run = where(with("VIRTUAL_ENV", "/nowhere/at/all"));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("error 5:"));
  EXPECT_THAT(run.output, HasSubstr("/nowhere/at/all"));
  EXPECT_THAT(run.output, HasSubstr("VIRTUAL_ENV"));
}

TEST(Errors, NameAFolderWithoutInterpreter) {
  const Folder empty;
  const Outcome run = where(with("CONDA_PREFIX", empty.path.string()));
  EXPECT_THAT(run.output, HasSubstr("error 5:"));
  EXPECT_THAT(run.output, HasSubstr(empty.path.string()));
  EXPECT_THAT(run.output, HasSubstr("CONDA_PREFIX"));
}

TEST(Errors, NameAProgramThatIsNoPython) {
  const Outcome run = where(with("TESSERACT_HOST_PYTHON", "/bin/ls"));
  EXPECT_THAT(run.output, HasSubstr("error 5:"));
  EXPECT_THAT(run.output, HasSubstr("/bin/ls"));
  EXPECT_THAT(run.output, HasSubstr("TESSERACT_HOST_PYTHON"));
}

TEST(Errors, SayWhatToInstallWhereNumpyIsMissing) {
  const Environment environment(false);
  const Outcome run = where(with("VIRTUAL_ENV", environment.folder()));
  EXPECT_THAT(run.output, HasSubstr("error 11:"));
  EXPECT_THAT(run.output, HasSubstr(environment.python()));
  EXPECT_THAT(run.output, HasSubstr("-m pip install numpy pydantic"));
}

// Links a package of the tested interpreter into an environment's.
void link_package(const Environment &environment, const std::string &name) {
  const std::filesystem::path all = ask_python("sysconfig.get_path('purelib')");
  for (const std::string &found : {name, name + ".libs"}) {
    if (std::filesystem::exists(all / found)) {
      std::filesystem::create_symlink(all / found, environment.packages / found);
    }
  }
}

TEST(Errors, SayWhatToInstallWherePydanticIsMissing) {
  const Environment environment(false);
  link_package(environment, "numpy");
  const Outcome run = where(with("VIRTUAL_ENV", environment.folder()));
  EXPECT_THAT(run.output, HasSubstr("error 11:"));
  EXPECT_THAT(run.output, HasSubstr("-m pip install pydantic"));
}

// A package that is there and can't be imported.
class BrokenPackage : public testing::TestWithParam<const char *> {};

TEST_P(BrokenPackage, IsNamedWithWhatItSays) {
  const std::string name = GetParam();
  const Environment environment(false);
  for (const std::string &package : {std::string("numpy"), std::string("pydantic")}) {
    if (package == name) {
      std::filesystem::create_directory(environment.packages / package);
      std::ofstream(environment.packages / package / "__init__.py")
          << "raise ImportError('" << name << " lacks a shared library')\n";
    } else {
      link_package(environment, package);
    }
  }
  const Outcome run = where(with("VIRTUAL_ENV", environment.folder()));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("error 7:"));
  EXPECT_THAT(run.output, HasSubstr(name + " lacks a shared library"));
}

INSTANTIATE_TEST_SUITE_P(Packages, BrokenPackage, testing::Values("numpy", "pydantic"),
                         [](const auto &package) { return std::string(package.param); });

// An interpreter that tells something else of itself than the tested one.
struct Told {
  const char *name, *as_told, *instead;  // of sed
  std::vector<std::string> expected;
};

class OtherPython : public testing::TestWithParam<Told> {};

TEST_P(OtherPython, IsRefused) {
  const Told &told = GetParam();
  const Folder folder;
  const std::filesystem::path program = folder.path / "python3";
  std::ofstream(program) << "#!/bin/sh\n"
                         << quoted(tested_python()) << " \"$@\" | sed "
                         << quoted("s|" + std::string(told.as_told) + "|" + told.instead + "|")
                         << "\n";
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const Outcome run = where(with("TESSERACT_HOST_PYTHON", program.string()));
  EXPECT_EQ(run.code, 1);
  EXPECT_THAT(run.output, HasSubstr("TESSERACT_HOST_PYTHON"));
  for (const std::string &text : told.expected) EXPECT_THAT(run.output, HasSubstr(text));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, OtherPython,
    testing::Values(Told{"Version",
                         "\"tag\": \"[^\"]*\"",
                         "\"tag\": \"cp399\"",
                         {"error 5:", "no loader tesseract_python_cp399.so", "-Dpythons"}},
                    Told{"FreeThreaded",
                         "\"tag\": \"\\(cp[0-9]*\\)\"",
                         "\"tag\": \"\\1t\"",
                         {"error 5:", "no loader tesseract_python_cp3", "t.so"}},
                    Told{"Implementation",
                         "cpython",
                         "pypy",
                         {"error 5:", "is pypy; only CPython can be embedded"}},
                    Told{"Static",
                         "\"library\": \"[^\"]*\"",
                         "\"library\": \"\"",
                         {"error 11:", "has no shared library libpython"}},
                    Told{"Silent", ".*", "", {"error 5:", "can't be asked for its version"}}),
    [](const auto &told) { return std::string(told.param.name); });

TEST(Errors, ListWhereALoaderWasLookedFor) {
  const Folder empty;
  Variables variables = with("TESSERACT_HOST_PYTHON", tested_python());
  // The bootstrap alone, without the loaders built beside it.
  const std::filesystem::path bootstrap = std::getenv("BOOTSTRAP");
  std::filesystem::copy(bootstrap, empty.path / bootstrap.filename());
  variables["TESSERACT_HOST_LOADER_PATH"] = empty.path.string();
  const Outcome run = where(variables);
  EXPECT_THAT(run.output, HasSubstr("error 5:"));
  EXPECT_THAT(run.output, HasSubstr(tested_python()));
  EXPECT_THAT(run.output, HasSubstr(empty.path.string() + "/tesseract_python_cp"));
}

TEST(Errors, NameBothEnvironmentsOfOneProcess) {
  const Environment first(true), second(true);
  const Outcome run =
      embed({"second", module_path("scale"), "{\"python\": \"" + first.folder() + "\"}",
             "{\"python\": \"" + second.folder() + "\"}"},
            clean_variables());
  EXPECT_THAT(run.output, HasSubstr("error 11:"));
  EXPECT_THAT(run.output, HasSubstr(first.folder()));
  EXPECT_THAT(run.output, HasSubstr(second.folder()));
}

TEST(Environments, TheSameMayBeAskedForTwice) {
  const Environment environment(true);
  const Outcome run =
      embed({"second", module_path("scale"), "{\"python\": \"" + environment.folder() + "\"}",
             "{\"python\": \"" + environment.python() + "\"}"},
            clean_variables());
  EXPECT_EQ(run.code, 0) << run.output;
}

TEST(Errors, ListingIsUnsupported) {
  const Outcome run = embed({"listing", module_path("scale")});
  EXPECT_THAT(run.output, HasSubstr("error 4:"));
}

}  // namespace
}  // namespace loader_test
