// SPDX-License-Identifier: Apache-2.0
// Another tool of rocprofiler-sdk's, the user's own: it makes the file XSP_OTHER_TOOL when it is asked.
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

__attribute__((visibility("default"))) void *rocprofiler_configure(uint32_t version, const char *text,
                                                                   uint32_t priority, void *client);

void *rocprofiler_configure(uint32_t version, const char *text, uint32_t priority, void *client)
{
  (void)version, (void)text, (void)priority, (void)client;
  close(open(getenv("XSP_OTHER_TOOL"), O_CREAT | O_WRONLY, 0600));
  return NULL;
}
