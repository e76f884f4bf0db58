// SPDX-License-Identifier: Apache-2.0
// CUPTI's interface for PC sampling, 11.8 to 13.5, as far as cuda.so uses it. abi_test.c compares it with the vendor's headers.
#ifndef XSP_TRACERS_CUDA_PC_ABI_H
#define XSP_TRACERS_CUDA_PC_ABI_H

#include <stddef.h>
#include <stdint.h>

#define PC_REASON_NAME_BYTES 128u // room that CUPTI wants for a stall reason's name
// Records and data are longer since this version (12.4). What is before the newest fields is the same in all.
#define PC_LONG_SINCE 22u
#define PC_RECORD_BYTES_BEFORE offsetof(struct pc_record, correlation_id)
#define PC_DATA_BYTES_BEFORE offsetof(struct pc_data, is_buffer_full)

enum pc_setting_type { PC_PERIOD = 1, PC_MODE = 5, PC_FORMAT = 7, PC_DATA = 8 };
enum pc_mode { PC_CONTINUOUS = 1, PC_SERIALIZED = 2 };
enum pc_format { PC_PARSED = 1 };

struct pc_stall {
  uint32_t reason, samples;
};
struct pc_record { // of one instruction
  size_t size;
  uint64_t cubin_crc, offset;
  uint32_t function_index, padding;
  char *function; // by malloc, shared by records of any time
  size_t stall_count;
  struct pc_stall *stalls;
  uint32_t correlation_id, padding2;
};
struct pc_data {
  size_t size, wanted;             // records that there is room for
  uint64_t total_samples, dropped; // of which the device dropped
  size_t count, remaining;         // records
  uint64_t range_id;
  struct pc_record *records;
  uint64_t foreign_samples; // of kernels that are not the program's: no records
  uint8_t is_buffer_full, padding[7];
};

// Parameters. `reserved` is NULL.
struct pc_context { // of cuptiPCSamplingEnable and …Disable
  size_t size;
  void *reserved, *context;
};
struct pc_setting {
  uint32_t type, status;
  union {
    uint64_t room[3];
    uint32_t number;
    void *data;
  } value;
};
struct pc_settings {
  size_t size;
  void *reserved, *context;
  size_t count;
  struct pc_setting *settings;
};
struct pc_reason_count {
  size_t size;
  void *reserved, *context;
  size_t *ret_count;
};
struct pc_reasons {
  size_t size;
  void *reserved, *context;
  size_t count;
  uint32_t *numbers;
  char **names;
};
struct pc_get {
  size_t size;
  void *reserved, *context;
  struct pc_data *data;
};
struct pc_cubin_crc {
  size_t size, cubin_bytes;
  const void *cubin;
  uint64_t ret_crc;
};
struct pc_line {
  size_t size;
  const void *cubin;
  const char *function;
  size_t cubin_bytes;
  uint32_t ret_line;
  uint64_t offset;
  char *ret_file, *ret_folder; // by malloc
};

#endif
