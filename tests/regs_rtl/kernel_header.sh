#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Compiles generated C headers as the Linux kernel does, with FIELD_GET and FIELD_PREP, against the distribution's kernel
# headers as system headers:
#   kernel_header.sh HEADER...
# The headers (Debian: linux-headers-amd64, about 80 MB) are not among the packages of scripts/setup; without them it says
# that it was skipped (status 77). RNIC_KERNEL_HEADERS names another folder than /usr/src.
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
  # One read and one write of every register field that has a mask of 32 bits.
  {
    echo '#include <linux/bitfield.h>'
    echo '#include <linux/io.h>'
    echo "#include \"$(basename "$header")\""
    echo 'u64 use(u32 v); u64 use(u32 v) { u64 sum = 0;'
    sed -nE "s/^#define (${upper}_[A-Z0-9_]+_MASK) ${upper}_GENMASK\(.*/\1/p" "$header" |
      while read -r mask; do echo "sum += FIELD_GET($mask, v) + FIELD_PREP($mask, 1);"; done
    echo "return sum + ${upper}_MAP_HASH; }"
  } > "$work/$name.c"
  gcc -std=gnu11 -D__KERNEL__ -nostdinc -isystem "$common/arch/x86/include" \
    -isystem "$arch/arch/x86/include/generated" -isystem "$common/include" -isystem "$arch/include" \
    -isystem "$common/arch/x86/include/uapi" -isystem "$arch/arch/x86/include/generated/uapi" \
    -isystem "$common/include/uapi" -isystem "$arch/include/generated/uapi" \
    -include "$common/include/linux/compiler-version.h" -include "$common/include/linux/kconfig.h" \
    -include "$common/include/linux/compiler_types.h" -fno-PIE -mcmodel=kernel -mno-sse -mno-red-zone \
    -fshort-wchar -Wall -Wextra -Werror -O2 -I"$(dirname "$header")" -c -o "$work/$name.o" "$work/$name.c"
  echo "ok: $(basename "$header") as gnu11 with $(basename "$common")"
done
