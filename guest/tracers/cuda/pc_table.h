// SPDX-License-Identifier: Apache-2.0
// Samples by instruction and stall reason, until they are published: of one context of CUDA. Pure but for call paths and spans;
// one thread at a time.
#ifndef XSP_TRACERS_CUDA_PC_TABLE_H
#define XSP_TRACERS_CUDA_PC_TABLE_H

#include "tracers/cuda/abi.h"

#define PC_REASONS_MOST 256u

struct pc_reason {
  char key[PC_REASON_NAME_BYTES]; // of its tag: "samples_wait", "samples_wait_not_issued"; "": no such reason
  bool is_not_issued;             // counted where no warp could issue; these samples are among the reason's others, too
};
struct pc_instruction;
struct pc_table {                            // starts as {0}; never freed
  struct pc_reason reasons[PC_REASONS_MOST]; // by CUPTI's number
  uint32_t reason_end;                       // beyond the highest number
  struct pc_instruction **slots;
  uint32_t count;
  uint64_t lost; // samples without room, or of no known reason
};

// CUPTI's name of a reason. False: its number is beyond what the table has.
bool pc_table_name(struct pc_table *table, uint32_t reason, const char *name);
// `caller`: the call path (xsp_call_path) that launched the kernel; 0: unknown.
void pc_table_add(struct pc_table *table, const struct cupti *cupti, const struct pc_record *record, uint32_t caller);
// A span of category "samples" for each instruction that was sampled since the last time, with its call path and a tag for
// each reason, `samples` and `samples_not_issued` in all. Returns their number.
uint32_t pc_table_publish(struct pc_table *table, uint16_t track);

#endif
