#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles generated C headers as the Linux kernel does, with FIELD_GET and FIELD_PREP, against the distribution's kernel
# headers as system headers:
#   kernel_header.sh HEADER...
# The headers are those of Debian's linux-headers-amd64, which scripts/setup installs where there is one (12 MB to fetch);
# without them it says that it was skipped (status 77). RNIC_KERNEL_HEADERS names another folder than /usr/src.
set -euo pipefail
root=${RNIC_KERNEL_HEADERS:-/usr/src}
common=$(ls -d "$root"/linux-headers-*-common 2> /dev/null | sort -V | tail -n 1 || true)
arch=$(ls -d "$root"/linux-headers-*-amd64 2> /dev/null | grep -v cloud | sort -V | tail -n 1 || true)
if [ -z "$common" ] || [ -z "$arch" ]; then
  echo "skipped: no linux-headers in $root"
  exit 77
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for header in "$@"; do
  name=$(basename "$header" _regs.h)
  upper=${name^^}
  # One read and one write of every register field.
  {
    echo '#include <linux/bitfield.h>'
    echo '#include <linux/io.h>'
    echo "#include \"$(basename "$header")\""
    echo 'u64 use(u32 v, u64 w); u64 use(u32 v, u64 w) { u64 sum = 0;'
    for kind in GENMASK:v GENMASK_ULL:w; do
      sed -nE "s/^#define (${upper}_[A-Z0-9_]+_MASK) ${upper}_${kind%:*}\(.*/\1/p" "$header" |
        while read -r mask; do echo "sum += FIELD_GET($mask, ${kind#*:}) + FIELD_PREP($mask, 1);"; done
    done
    echo "return sum + ${upper}_MAP_HASH; }"
  } > "$work/$name.c"
  grep -q 'FIELD_GET(.*, v)' "$work/$name.c" || { echo "$header: no field found"; exit 1; }
  gcc -std=gnu11 -D__KERNEL__ -nostdinc -isystem "$common/arch/x86/include" \
    -isystem "$arch/arch/x86/include/generated" -isystem "$common/include" -isystem "$arch/include" \
    -isystem "$common/arch/x86/include/uapi" -isystem "$arch/arch/x86/include/generated/uapi" \
    -isystem "$common/include/uapi" -isystem "$arch/include/generated/uapi" \
    -include "$common/include/linux/compiler-version.h" -include "$common/include/linux/kconfig.h" \
    -include "$common/include/linux/compiler_types.h" -fno-PIE -mcmodel=kernel -mno-sse -mno-red-zone \
    -fshort-wchar -Wall -Wextra -Werror -O2 -I"$(dirname "$header")" -c -o "$work/$name.o" "$work/$name.c"
  echo "ok: $(basename "$header") as gnu11 with $(basename "$common")"
done
