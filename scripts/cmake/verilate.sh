#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Verilates one model and compiles it into a static library; called by rnic_verilate.cmake.
#   verilate.sh --dir D --lib D/libx.a --rtl RTL --verilator V --jobs N --cxx C --ccache=X --opt=FLAGS -- verilator args
# Packages (rtl/pkg/*.sv, rtl/gen/*_pkg.sv) come first, every rtl/ folder is a library folder. C++
# that did not change keeps its time stamp, so that only the rest is compiled. tests.vlt is for the
# tests' own wrappers.
set -euo pipefail

ccache="" opt="-O2"
while [ $# -gt 0 ]; do
  case "$1" in
    --dir) dir=$2; shift 2 ;;
    --lib) lib=$2; shift 2 ;;
    --rtl) rtl=$2; shift 2 ;;
    --verilator) verilator=$2; shift 2 ;;
    --jobs) jobs=$2; shift 2 ;;
    --cxx) cxx=$2; shift 2 ;;
    --ccache=*) ccache=${1#*=}; shift ;;
    --opt=*) opt=${1#*=}; shift ;;
    --) shift; break ;;
    *) echo "verilate.sh: unknown argument $1" >&2; exit 2 ;;
  esac
done

top="" prefix="" previous=""
have_source=0
for arg in "$@"; do
  case "$previous" in
    --top-module) top=$arg ;;
    --prefix) prefix=$arg ;;
  esac
  case "$arg" in */"$top".sv) have_source=1 ;; esac
  previous=$arg
done

shopt -s nullglob
packages=("$rtl"/pkg/*.sv "$rtl"/gen/*_pkg.sv)
search=()
for folder in "$rtl"/*/; do search+=(-y "${folder%/}"); done
sources=()
if [ "$have_source" = 0 ]; then
  found=("$rtl"/*/"$top".sv)
  if [ "${#found[@]}" != 1 ]; then
    echo "verilate.sh: need exactly one rtl/*/$top.sv, found ${#found[@]}: ${found[*]:-}" >&2
    exit 2
  fi
  sources=("${found[0]}")
fi

# A build that was interrupted may still be at work here: what it started keeps the lock.
mkdir -p "$dir"
exec {lock}> "$dir/lock"
flock "$lock"

new=$dir/new
cpp=$dir/cpp
rm -rf "$new"
mkdir -p "$new" "$cpp"
"$verilator" --Mdir "$new" --MMD "${0%/*}/verilator.vlt" "${0%/*}/tests.vlt" "-I$rtl/common" +libext+.sv "${search[@]}" \
  "${packages[@]}" "$@" "${sources[@]}" > "$dir/verilator.log" 2>&1 || {
  cat "$dir/verilator.log" >&2
  exit 1
}
# Newer versions report sizes and times; what is left are warnings.
sed -E '/^- (V e r i l|Verilator:)/d' "$dir/verilator.log" >&2

# Take over what changed, drop what is gone.
sed -e "s|^.* : |$lib : |" "$new/${prefix}__ver.d" > "$dir/deps.d"
rm -f "$new/${prefix}__ver.d" "$new/${prefix}__verFiles.dat"
for file in "$cpp"/*.cpp "$cpp"/*.h "$cpp"/*.mk; do
  name=${file##*/}
  [ -e "$new/$name" ] || [ "$name" = "${prefix}__ALL.cpp" ] || rm -f "$file" "${file%.*}.o" "${file%.*}.d"
done
for file in "$new"/*; do
  cmp -s "$file" "$cpp/${file##*/}" || cp "$file" "$cpp/${file##*/}"
done
rm -rf "$new"

# The archive's name depends on Verilator's version.
archive=${prefix}__ALL.a
root=$("$verilator" --getenv VERILATOR_ROOT)
if ! grep -qs 'VM_PREFIX)__ALL\.a:' "$root/include/verilated.mk" &&
  grep -qs 'lib$(VM_PREFIX)\.a:' "$root/include/verilated.mk"; then
  archive=lib$prefix.a
fi
rm -f "$cpp/$archive"
make --no-print-directory -s -j "$jobs" -C "$cpp" -f "$prefix.mk" "$archive" CXX="$cxx" \
  OBJCACHE="$ccache" OPT_FAST="$opt" OPT_SLOW="-O0" > "$dir/make.log" 2>&1 || {
  cat "$dir/make.log" >&2
  exit 1
}
cp "$cpp/$archive" "$lib"
