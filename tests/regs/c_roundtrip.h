// SPDX-License-Identifier: Apache-2.0
//
// What a C99 driver does with the generated header: every field of every descriptor, set and read
// back.
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

// 0, or the number (from 1) of the first check that failed.
int regs_c_roundtrip(void);

#ifdef __cplusplus
}
#endif
