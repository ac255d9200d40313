# The tests of tesseract_host.jax with the oldest jax that it supports, on this Python, and with the
# newest beside tesseract-jax, which needs a newer Python than Debian's.

jax_oldest=(jax==0.8.0 jaxlib==0.8.0)
jax_newest_python=3.12

jax_tests() {
  local name=$1 folder=$2 venv=$3 report
  report=$reports/pytest-${name// /-}.xml
  counted "JAX tests, $name" "$report" \
    env VIRTUAL_ENV="$venv" PATH="$venv/bin:$PATH" \
    meson devenv -C "$folder" -w "$root" "${pytest[@]}" tests/jax --junitxml="$root/$report"
}

jax() {
  local interpreter
  make_venv .venv-jax-oldest "$python" -r .ci/requirements.txt "${jax_oldest[@]}"
  jax_tests "oldest jax" build "$root/.venv-jax-oldest"
  if ! interpreter=$(find_python "$jax_newest_python"); then
    counted "JAX tests, newest jax: no Python $jax_newest_python, not run" - sh -c 'exit 77'
    return
  fi
  make_venv ".venv-$jax_newest_python" "$interpreter" "${requirements[@]}"
  (
    VIRTUAL_ENV=$root/.venv-$jax_newest_python PATH=$root/.venv-$jax_newest_python/bin:$PATH
    compile build-jax -Dpythons="$root/.venv-$jax_newest_python/bin/python" -Dbench=false
  )
  jax_tests "newest jax" build-jax "$root/.venv-$jax_newest_python"
}
