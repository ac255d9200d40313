# Set-up: system packages, the virtual environment .venv, and the build in build/.

packages=(
  g++ gfortran make cmake ninja-build ccache pkg-config binutils git ca-certificates
  libgtest-dev libgmock-dev nlohmann-json3-dev libcli11-dev libpng-dev zlib1g-dev
  clang clang-tidy
  python3 python3-venv python3-dev
)

missing_packages() {
  local package
  for package in "${packages[@]}"; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed$' ||
      printf '%s\n' "$package"
  done
}

as_root() {
  if [[ $(id -u) -eq 0 ]]; then
    env DEBIAN_FRONTEND=noninteractive "$@"
  else
    sudo env DEBIAN_FRONTEND=noninteractive "$@"
  fi
}

install_packages() {
  as_root apt-get install -y --no-install-recommends "$@"
}

setup_packages() {
  local missing
  if ! command -v dpkg-query >/dev/null; then
    echo "-- not a Debian system; these packages, by their names there, must be present:"
    echo "   ${packages[*]}"
    return
  fi
  mapfile -t missing < <(missing_packages)
  [[ ${#missing[@]} -gt 0 ]] || return 0
  if [[ $(id -u) -ne 0 ]] && ! command -v sudo >/dev/null; then
    die "as root: apt-get install ${missing[*]}"
  fi
  echo "-- missing system packages: ${missing[*]}"
  [[ $(id -u) -eq 0 ]] || sudo -v
  # The lists of packages are fetched only where there are none, or where they are out of date.
  if ! apt-cache show "${missing[@]}" >/dev/null 2>&1; then
    quietly "apt-get update" as_root apt-get update
    quietly "apt-get install" install_packages "${missing[@]}"
  elif ! (quietly "apt-get install" install_packages "${missing[@]}") 2>/dev/null; then
    quietly "apt-get update" as_root apt-get update
    quietly "apt-get install" install_packages "${missing[@]}"
  fi
}

# Components in Python need a CPython whose library can be loaded into a C program.
check_python() {
  "$python" - <<'END' || exit 1
import os
import sys
import sysconfig

if sys.version_info < (3, 10):
    sys.exit(f"./run: {sys.executable} is Python {sys.version.split()[0]}; 3.10 or newer is needed")
get = sysconfig.get_config_var
folders = [get("LIBDIR"), os.path.join(get("LIBDIR") or "", get("MULTIARCH") or ""), get("LIBPL")]
names = [get("INSTSONAME"), get("LDLIBRARY")]
found = [
    os.path.join(folder, name)
    for folder in folders
    for name in names
    if folder and name and ".so" in name and os.path.exists(os.path.join(folder, name))
]
if not found:
    sys.exit(
        f"./run: {sys.executable} has no shared libpython, so that no C program can load Python "
        "components with it.\n"
        f"Install libpython{get('py_version_short')} (Debian), use a Python that was configured "
        "with --enable-shared, or name another one by PYTHON=..."
    )
END
}

requirements=(-r .ci/requirements.txt -r .ci/requirements-jax.txt)

# The CUDA compiler, for the example in CUDA: the machine's, or the one of the wheels (100 MB).
if ! PATH=$PATH:/usr/local/cuda/bin command -v nvcc >/dev/null; then
  requirements+=(-r .ci/requirements-cuda.txt)
fi

# make_venv FOLDER INTERPRETER REQUIREMENT...: a virtual environment with these (arguments of pip
# install), made where there is none that is complete.
make_venv() {
  local folder=$1 interpreter=$2 stamp=$1/.complete wanted
  shift 2
  wanted=$("$interpreter" -c 'import sys; print(sys.version, sys.base_prefix)'; echo "$@"; cat .ci/*.txt)
  [[ ! -f $stamp || $(<"$stamp") != "$wanted" ]] || return 0
  rm -rf "$folder"
  quietly "virtual environment ${folder##*/}" "$interpreter" -m venv "$folder"
  # The pip of older Pythons doesn't find its way through these requirements.
  quietly "pip for ${folder##*/}" "$folder/bin/python" -m pip install --disable-pip-version-check 'pip>=24'
  quietly "pip install into ${folder##*/}" "$folder/bin/python" -m pip install \
    --disable-pip-version-check "$@"
  printf '%s' "$wanted" >"$stamp"
}

setup_venv() {
  make_venv .venv "$python" "${requirements[@]}"
  export VIRTUAL_ENV=$root/.venv PATH=$root/.venv/bin:$PATH
  # Of the wheels, where they were needed.
  PATH=$PATH:$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/nvidia/cu13/bin
  # Build folders lie beside each other, so that what one compiled serves the next, the wheel's too.
  export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1
  # Else ccache leaves out whatever precompiled headers are used for.
  export CCACHE_SLOPPINESS=pch_defines,time_macros
  unset PYTHONHOME PYTHONPATH TESSERACT_HOST_LOADER_PATH TESSERACT_HOST_PYTHON CONDA_PREFIX
}

# compile FOLDER ARGUMENT... [-- TARGET...]: configures a build folder where that is due, and compiles
# it, or these targets; the arguments are those of meson setup.
compile() {
  local folder=$1 arguments=()
  shift
  while [[ $# -gt 0 && $1 != -- ]]; do
    arguments+=("$1")
    shift
  done
  [[ $# -eq 0 ]] || shift
  # A configuration made in another place, or with other options, is no use here.
  if [[ ! -f $folder/build.ninja || $(cat "$folder/.options" 2>/dev/null) != "$root ${arguments[*]}" ]]; then
    rm -rf "${folder:?}/meson-private" "$folder/meson-info" "$folder/build.ninja"
    quietly "meson setup $folder" meson setup "$folder" "${arguments[@]}"
    printf '%s' "$root ${arguments[*]}" >"$folder/.options"
  fi
  quietly "compile $folder" meson compile -C "$folder" "$@"
}

# Installs into build/prefix, which the examples are built against.
install_prefix() {
  quietly "install into build/prefix" meson install -C build --no-rebuild --quiet
}

setup() {
  say "set-up"
  setup_packages
  python=${PYTHON:-python3}
  command -v "$python" >/dev/null || die "there is no $python; name an interpreter by PYTHON=..."
  check_python
  setup_venv
  compile build --prefix="$root/build/prefix" --libdir=lib -Dpythons="$root/.venv/bin/python"
}
