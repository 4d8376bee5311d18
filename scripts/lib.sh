# SPDX-License-Identifier: Apache-2.0
#
# Sourced by the other scripts: repository root, build folder, configure and build, verdict lines.
#   RNIC_BUILD_DIR    build folder, default build/
#   RNIC_CMAKE_ARGS   more arguments for cmake
set -euo pipefail

rnic_root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
rnic_caller=$(pwd)
rnic_name=$(basename "$0")
rnic_script=$(cd "$(dirname "$0")" && pwd)/$rnic_name
rnic_build=${RNIC_BUILD_DIR:-$rnic_root/build}
case "$rnic_build" in /*) ;; *) rnic_build=$rnic_caller/$rnic_build ;; esac
cd "$rnic_root"

# The comment at the head of the calling script.
usage() { awk 'NR > 3 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$rnic_script"; }

say() { echo "$rnic_name: $*"; }

# Always ends with a verdict, also when a command failed on the way.
rnic_verdict_given=0
verdict() {  # PASS|FAIL text...
  local word=$1
  shift
  rnic_verdict_given=1
  echo "$rnic_name: $word: $*"
  [ "$word" = PASS ] && exit 0
  exit 1
}
rnic_at_exit() {
  local status=$?
  if [ "$rnic_verdict_given" = 0 ] && [ "$status" != 0 ]; then
    echo "$rnic_name: FAIL: stopped with status $status"
  fi
}
trap rnic_at_exit EXIT

setup() { "$rnic_root/scripts/setup" --quiet "$@"; }

configure() {
  # The generator finds new files itself; cmake runs once.
  if [ ! -e "$rnic_build/build.ninja" ] || [ -n "${RNIC_CMAKE_ARGS:-}" ]; then
    say "configuring in $rnic_build"
    mkdir -p "$rnic_build"
    # shellcheck disable=SC2086
    cmake -S "$rnic_root" -B "$rnic_build" -G Ninja ${RNIC_CMAKE_ARGS:-} > "$rnic_build/configure.log" 2>&1 || {
      cat "$rnic_build/configure.log"
      verdict FAIL "configuration"
    }
  fi
}

build() {  # targets...
  configure
  say "building $*"
  cmake --build "$rnic_build" --target "$@" || verdict FAIL "build of $*"
}
