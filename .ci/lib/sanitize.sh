# The native and loader tests under sanitizers.

# sanitizer_tests FOLDER TEST...: these C++ tests, or all.  GCC 12's thread sanitizer needs addresses
# that aren't randomised too widely.
sanitizer_tests() {
  local fixed=() folder=$1
  shift
  if setarch "$(uname -m)" -R true 2>/dev/null; then fixed=(setarch "$(uname -m)" -R); fi
  "${fixed[@]}" meson test -C "$folder" --no-rebuild --print-errorlogs --timeout-multiplier 4 "$@"
}

# Unoptimised: with what the sanitizers add that takes a third of the time to compile.
sanitized_options=(-Db_lundef=false -Dbuildtype=debug -Dbench=false -Dtool=false)

sanitize_address() {
  compile build-address -Db_sanitize=address,undefined "${sanitized_options[@]}" \
    -Dpythons="$root/.venv/bin/python"
  counted "address and undefined behaviour sanitizers" build-address/meson-logs/testlog.junit.xml \
    sanitizer_tests build-address
}

# CPython is not built for the thread sanitizer, which would see half of what its threads do.
sanitized_threads=(-Db_sanitize=thread "${sanitized_options[@]}" -Dloaders=native)

# The programs that start threads.
threaded=(cancel extensions loaders results shutdown threads)

sanitize() {
  sanitize_address
  compile build-thread "${sanitized_threads[@]}" -- test-plugins "${threaded[@]/#/native-}" \
    adapter-threads
  counted "thread sanitizer, programs with threads" build-thread/meson-logs/testlog.junit.xml \
    sanitizer_tests build-thread "${threaded[@]}" "adapter threads"
}

# With every native program under the thread sanitizer, for which the quick run has no time.
sanitize_all() {
  sanitize_address
  compile build-thread "${sanitized_threads[@]}"
  counted "thread sanitizer" build-thread/meson-logs/testlog.junit.xml sanitizer_tests build-thread
}
