// SPDX-License-Identifier: Apache-2.0
// Random bytes as a range's text: all parsed parts must be inside it. First byte: length of the domain (and glob).
#include "format/range.h"

#include <xsp/span.h>

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void demand(int truth)
{
  if (!truth)
    abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  if (size == 0)
    return 0;
  char domain[33] = {0};
  size_t domain_length = data[0] & 31u;
  if (domain_length > size - 1)
    domain_length = size - 1;
  memcpy(domain, data + 1, domain_length);
  const char *text = (const char *)data + 1 + domain_length;
  size_t length = size - 1 - domain_length;
  struct range range;
  range_read(domain, text, length, domain, &range);
  demand(range.level < XSP_LEVEL_KERNEL);
  demand(range.name >= text && range.name_length <= length && range.name + range.name_length <= text + length);
  demand(range.is_step == (range.level == XSP_LEVEL_MODEL));
  if (range.sizes != NULL) {
    demand(range.level == XSP_LEVEL_LAYER || range.is_step);
    demand(range.sizes >= range.name + range.name_length && range.sizes + range.sizes_length <= text + length);
  }
  return 0;
}
