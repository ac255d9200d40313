# The quick tests of everything.

in_devenv() { meson devenv -C build -w "$root" "$@"; }

# The install tests are slow and stand for users without our environment.
tests() {
  install_prefix
  counted "C++ tests" build/meson-logs/testlog.junit.xml \
    meson test -C build --no-rebuild --print-errorlogs
  counted "Python tests" $reports/pytest.xml \
    in_devenv python -m pytest -q tests --ignore tests/install --junitxml="$root/$reports/pytest.xml"
  counted "examples" - examples/run-all "$root/build/prefix"
  counted "install tests" $reports/install.xml \
    python -m pytest -q tests/install --junitxml="$root/$reports/install.xml"
}

showcase() {
  install_prefix
  say "showcase"
  examples/heat-inversion/run "$root/build/prefix"
}

bench() {
  say "bench"
  meson test -C build --no-rebuild --benchmark --verbose
}
