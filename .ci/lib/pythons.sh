# The Python tests with each CPython found besides the one of .venv.

versions=(3.10 3.11 3.12 3.13)

# The interpreter of a version: pythonX.Y on the PATH, or pyenv's newest; fails if there is none.
find_python() {
  local version=$1 candidate
  for candidate in "$(command -v "python$version" || true)" \
    $(ls -1d "${PYENV_ROOT:-$HOME/.pyenv}/versions/$version".*/bin/python 2>/dev/null | sort -Vr); do
    if [[ -n $candidate ]] && "$candidate" -c "import sys
sys.exit('%d.%d' % sys.version_info[:2] != '$version')" 2>/dev/null; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

pythons() {
  local version interpreter venv folder own
  own=$(python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  for version in "${versions[@]}"; do
    [[ $version != "$own" ]] || continue
    if ! interpreter=$(find_python "$version"); then
      counted "Python $version: not found, not run" - sh -c 'exit 77'
      continue
    fi
    venv=$root/.venv-$version
    folder=build-python$version
    make_venv "$venv" "$interpreter" "${requirements[@]}"
    (
      VIRTUAL_ENV=$venv PATH=$venv/bin:$PATH
      # Without precompiled headers, so that what a test forgets to include is noticed.
      compile "$folder" -Dpythons="$venv/bin/python" -Dbench=false -Db_pch=false
    )
    counted "C++ tests, Python $version" "$folder/meson-logs/testlog.junit.xml" \
      env VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH" \
      meson test -C "$folder" --no-rebuild --print-errorlogs
    counted "Python tests, Python $version" "$reports/pytest-$version.xml" \
      env VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH" \
      meson devenv -C "$folder" -w "$root" "${pytest[@]}" tests --ignore tests/install \
      --junitxml="$root/$reports/pytest-$version.xml"
  done
}
