# Steps: what is said on the terminal, what is kept in logs, and what is counted.

logs=build/logs
reports=build/reports
steps=()  # of tests: "exit status, tab, JUnit file or -, tab, name"

say() { printf '\n== %s\n' "$*"; }

die() {
  printf './run: %s\n' "$*" >&2
  exit 1
}

# quietly NAME COMMAND...: runs the command with its output in a log, which is shown if it fails.
quietly() {
  local name=$1 log start=$SECONDS
  shift
  mkdir -p "$logs"
  log=$logs/$(tr -c '[:alnum:]\n' '-' <<<"$name").log
  printf -- '-- %s ... ' "$name"
  if "$@" </dev/null >"$log" 2>&1; then
    printf 'done (%d s)\n' $((SECONDS - start))
  else
    printf 'failed\n'
    tail -n 60 "$log" >&2
    die "$name failed; everything it said is in $log"
  fi
}

# counted NAME JUNIT COMMAND...: runs the command as a test step, whose cases are read from the JUnit
# file; "-" counts the step as one test, skipped if it exits with 77.
counted() {
  local name=$1 junit=$2 status=0
  shift 2
  say "$name"
  mkdir -p "$reports"
  [[ $junit == - ]] || rm -f "$junit"
  "$@" </dev/null || status=$?
  steps+=("$status"$'\t'"$junit"$'\t'"$name")
}

# Prints the counts of all steps and exits.
totals() {
  say "summary"
  printf '%s\n' "${steps[@]}" | python .ci/totals.py
}
