# Formatters and linters; warnings are errors.

sources() {  # sources GLOB...: tracked files
  git ls-files -- "$@"
}

check_format() {
  # shellcheck disable=SC2046
  clang-format --dry-run -Werror $(sources '*.c' '*.h' '*.cpp' '*.hpp')
}

# What clang-tidy counts of headers that are not ours is left out.
# tidied GLOB...
tidied() {
  sources "$@" |
    python .ci/compiled.py build |
    xargs -r -n 1 -P 2 clang-tidy -p build --quiet --extra-arg=-Wno-unknown-warning-option \
      2> >(grep -v '^[0-9]* warnings\? generated\.$' >&2)
}

lint() {
  counted "clang-format" - check_format
  counted "clang-tidy, host" - tidied ':(glob)host/*.cpp'
  counted "ruff check" - ruff check
  counted "ruff format" - ruff format --check
}

# The rest of what clang-tidy looks at, for which the quick run has no time.
tidy() {
  counted "clang-tidy, loaders and tool" - tidied 'loaders/*.cpp' 'host/tools/*.cpp'
}
