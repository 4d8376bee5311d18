// SPDX-License-Identifier: Apache-2.0
#include "c_roundtrip.h"

#include "rnic_regs.h"

#define CHECK_NEXT(condition)   \
  do {                          \
    ++n;                        \
    if (!(condition)) return n; \
  } while (0)

int regs_c_roundtrip(void) {
  int n = 0;
  uint8_t buffer[130];
  uint8_t* d = buffer + 1; /* not aligned */
  uint8_t mac[6] = {1, 2, 3, 4, 5, 6}, got[6] = {0};
  unsigned i;
  static const char* const names[RNIC_N_COUNTERS] = RNIC_COUNTER_NAMES;

  memset(buffer, 0xFF, sizeof(buffer));
  rnic_wqe_set_opcode(d, RNIC_WQE_OPCODE_WRITE);
  rnic_wqe_set_signaled(d, 0);
  rnic_wqe_set_inline_len(d, 0x5A5);
  rnic_wqe_set_seg_cnt(d, 2);
  rnic_wqe_set_seg1_va(d, 0x0123456789ABCDEFull);
  CHECK_NEXT(rnic_wqe_get_opcode(d) == 0x08 && d[8] == 0x08);
  CHECK_NEXT(rnic_wqe_get_signaled(d) == 0 && d[9] == 0xFE);
  CHECK_NEXT(rnic_wqe_get_inline_len(d) == 0x5A5 && d[10] == 0xA5 && d[11] == 0x25);
  CHECK_NEXT(rnic_wqe_get_seg_cnt(d) == 2);
  CHECK_NEXT(rnic_wqe_get_seg1_va(d) == 0x0123456789ABCDEFull && d[56] == 0xEF && d[63] == 0x01);
  CHECK_NEXT(d[7] == 0xFF && d[12] == 0xFF && d[64] == 0xFF && buffer[0] == 0xFF);

  memset(buffer, 0, sizeof(buffer));
  rnic_cmd_path_set_dmac(d, mac);
  rnic_cmd_path_get_dmac(d, got);
  CHECK_NEXT(memcmp(mac, got, 6) == 0 && d[8] == 1 && d[13] == 6);
  rnic_cmd_path_set_pcp(d, 5);
  rnic_cmd_path_set_vlan(d, 1);
  CHECK_NEXT(d[20] == 0xA2);
  rnic_cmd_path_set_pcp(d, 0xFFFFFFF8u); /* only its three bits */
  CHECK_NEXT(d[20] == 0x02);
  rnic_eqe_set_timestamp(d, 0x00FEDCBA98765432ull);
  rnic_eqe_set_owner(d, 1);
  CHECK_NEXT(rnic_eqe_get_timestamp(d) == 0x00FEDCBA98765432ull && d[15] == 1);

  CHECK_NEXT(RNIC_FIELD_GET(RNIC_CSR_DMA_CFG_MRRS_MASK, 0x00000120u) == 2);
  CHECK_NEXT(RNIC_FIELD_PREP(RNIC_CSR_DMA_CFG_MRRS_MASK, 5u) == 0x50u);
  CHECK_NEXT(RNIC_CSR_DMA_CFG_MRRS_MASK == 0x70u && RNIC_CSR_DMA_CFG_MRRS_SHIFT == 4);
  CHECK_NEXT(RNIC_CSR_MRC_PATH_MASK_MASK_MASK == 0xFFFFFFFFu);
  CHECK_NEXT(RNIC_CSR_QP_CTX_BASE_ADDR_MASK == 0xFFFFFFFFFFFFFFFFull);
  CHECK_NEXT(RNIC_CSR_GPU_BASE(3) == 0x330u && RNIC_CSR_GPU_LIMIT(0) == 0x308u);
  CHECK_NEXT(RNIC_CSR_DMA_CFG_RESET_VALUE == 0x121u);
  CHECK_NEXT(RNIC_PAGE_TX_WQE_PROD == 0x10 && RNIC_PAGE_STRIDE == 0x1000);
  CHECK_NEXT(RNIC_CSR_COUNTERS == 0x10000 && RNIC_CSR_BAR == 2);
  for (i = 0; i < RNIC_N_COUNTERS; ++i) CHECK_NEXT(names[i][0] != 0);
  CHECK_NEXT(strcmp(names[RNIC_CNT_CQ_OVERRUN], "cq_overrun") == 0);
  return 0;
}
