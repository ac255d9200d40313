# Formatters and linters; warnings are errors.

sources() {  # sources GLOB...: tracked files
  git ls-files -- "$@"
}

check_format() {
  # shellcheck disable=SC2046
  clang-format --dry-run -Werror $(sources '*.c' '*.h' '*.cpp' '*.hpp' '*.cu')
}

# tidied CHECKS GLOB...: clang-tidy with the checks of .clang-tidy and these changes to them.  What it
# counts of headers that are not ours is left out.
tidied() {
  local checks=$1
  shift
  sources "$@" |
    python .ci/compiled.py build |
    xargs -r -n 1 -P 2 clang-tidy -p build --quiet "--checks=$checks" \
      --extra-arg=-Wno-unknown-warning-option \
      2> >(grep -v '^[0-9]* warnings\? generated\.$' >&2)
}

lint() {
  counted "clang-format" - check_format
  counted "clang-tidy, host" - tidied '-clang-analyzer-*' ':(glob)host/*.cpp'
  counted "ruff check" - ruff check
  counted "ruff format" - ruff format --check
}

# All of clang-tidy, with its analyzer, for which the quick run has no time.
tidy() {
  counted "clang-tidy, all checks" - tidied '' 'host/*.cpp' 'loaders/*.cpp' 'python/adapter/*.cpp'
}
