# The native and loader tests under sanitizers.

sanitizer_tests() {  # sanitizer_tests FOLDER: its C++ tests
  meson test -C "$1" --no-rebuild --print-errorlogs --timeout-multiplier 4
}

sanitize() {
  local sanitizers folder
  for sanitizers in address,undefined thread; do
    folder=build-${sanitizers%%,*}
    compile "$folder" -Db_sanitize="$sanitizers" -Db_lundef=false -Dbuildtype=debugoptimized \
      -Dbench=false -Dtool=false -Dpythons="$root/.venv/bin/python"
    counted "$sanitizers sanitizer" "$folder/meson-logs/testlog.junit.xml" \
      sanitizer_tests "$folder"
  done
}
