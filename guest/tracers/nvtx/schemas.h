// SPDX-License-Identifier: Apache-2.0
// The schemas, enumerations and counters that programs registered, by domain and id. Lock-free; live as long as the
// process.
#ifndef XSP_TRACERS_NVTX_SCHEMAS_H
#define XSP_TRACERS_NVTX_SCHEMAS_H

#include "tracers/nvtx/payload.h"

struct nvtx_counter {
  uint64_t schema; // or a predefined type
  const char *name;
};

// 0: refused. Copies the attributes. The first registration of an id stays.
uint64_t nvtx_schema_register(const void *domain, const struct nvtx_schema_attributes *attributes);
uint64_t nvtx_schema_register_enum(const void *domain, const struct nvtx_enum_attributes *attributes);
uint64_t nvtx_counter_register(const void *domain, const struct nvtx_counter_attributes *attributes);
const struct payload_schema *nvtx_schema_find(const void *domain, uint64_t id); // NULL: none
const struct nvtx_counter *nvtx_counter_find(const void *domain, uint64_t id);  // NULL: none

#endif
