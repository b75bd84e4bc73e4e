# What every part of the lab says and how it ends when it cannot go on. Sourced by lab/run.

# Statuses of the lab's own; that of a command in the guest may be any other. As timeout(1) has
# them, and one for what this machine lacks: with that a test is skipped.
readonly LAB_LACKS=123 LAB_OUT_OF_TIME=124 LAB_FAILED=125

say() { printf 'lab: %s\n' "$*" >&2; }

fail() {
  say "$*"
  exit "$LAB_FAILED"
}

lack() {
  say "$*"
  exit "$LAB_LACKS"
}

run_out_of_time() {
  say "not done within $time_limit s: the time limit (--time-limit)"
  exit "$LAB_OUT_OF_TIME"
}
