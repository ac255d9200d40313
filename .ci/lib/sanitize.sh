# The native and loader tests under sanitizers.

# sanitizer_tests FOLDER: its C++ tests.  GCC 12's thread sanitizer needs addresses that aren't
# randomised too widely.
sanitizer_tests() {
  local fixed=()
  if setarch "$(uname -m)" -R true 2>/dev/null; then fixed=(setarch "$(uname -m)" -R); fi
  "${fixed[@]}" meson test -C "$1" --no-rebuild --print-errorlogs --timeout-multiplier 4
}

# sanitized SANITIZERS OPTION...
sanitized() {
  local sanitizers=$1 folder=build-${1%%,*}
  shift
  compile "$folder" -Db_sanitize="$sanitizers" -Db_lundef=false -Dbuildtype=debugoptimized \
    -Dbench=false -Dtool=false "$@"
  counted "$sanitizers sanitizer" "$folder/meson-logs/testlog.junit.xml" sanitizer_tests "$folder"
}

# CPython is not built for the thread sanitizer, which would see half of what its threads do.
sanitize() {
  sanitized address,undefined -Dpythons="$root/.venv/bin/python"
  sanitized thread -Dloaders=native
}
