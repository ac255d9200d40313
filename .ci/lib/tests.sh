# The quick tests of everything.

# A process for each core; the tests of one file stay together.
pytest=(python -m pytest -q -n auto --maxprocesses 4 --dist loadfile)

in_devenv() { meson devenv -C build -w "$root" "$@"; }

# The install tests are slow and stand for users without our environment.
tests() {
  install_prefix
  counted "C++ tests" build/meson-logs/testlog.junit.xml \
    meson test -C build --no-rebuild --print-errorlogs
  counted "Python tests" $reports/pytest.xml \
    in_devenv "${pytest[@]}" tests --ignore tests/install --junitxml="$root/$reports/pytest.xml"
  counted "examples" $reports/examples.xml \
    examples/run-all "$root/build/prefix" --junit "$root/$reports/examples.xml"
  counted "install tests" $reports/install.xml \
    python -m pytest -q tests/install --junitxml="$root/$reports/install.xml"
}

# Builds the showcase as its reader would, against the installed library, and runs it.
showcase() {
  local folder=build/showcase
  install_prefix
  export PKG_CONFIG_PATH=$root/build/prefix/lib/pkgconfig
  compile "$folder" examples/heat-inversion
  say "showcase"
  "$folder/heat-inversion" --output-dir "$folder/output"
}

bench() {
  say "bench"
  meson test -C build --no-rebuild --benchmark --verbose
  meson devenv -C build -w "$root" python tests/bench/client_calls.py
  if python -c 'import jax' 2>/dev/null; then
    meson devenv -C build -w "$root" python tests/bench/jax_calls.py \
      build/tests/bench/libbench_jax_plugin.so build/tests/bench/libbench_jax_bare_call.so
  fi
}
