// SPDX-License-Identifier: Apache-2.0
// Called while a tracer starts and when the program ends.
#include "tracers/device/host.h"

#include <stdio.h>
#include <stdlib.h>

void host_say(const struct xsp_host *host, const char *line)
{
  if (host != NULL)
    host->say(host, line);
}

void host_say_count(const struct xsp_host *host, uint64_t count, const char *what)
{
  char line[200];
  if (count == 0)
    return;
  snprintf(line, sizeof line, "%llu %s", (unsigned long long)count, what);
  host_say(host, line);
}

void host_lost(const struct xsp_host *host, uint64_t events)
{
  if (host != NULL && host->size >= sizeof *host)
    host->lost(host, events);
}

const char *host_option(const struct xsp_host *host, const char *name)
{
  return host == NULL ? NULL : host->option(host, name);
}

uint64_t host_number(const struct xsp_host *host, const char *name, uint64_t least, uint64_t most, uint64_t otherwise)
{
  const char *text = host_option(host, name);
  char *end = NULL, line[160];
  unsigned long long wish = text == NULL ? otherwise : strtoull(text, &end, 10);
  if (text == NULL || (*text >= '0' && *text <= '9' && *end == '\0' && wish >= least && wish <= most))
    return wish;
  snprintf(line, sizeof line, "%s wants a number from %llu to %llu; %llu is taken", name, (unsigned long long)least,
           (unsigned long long)most, (unsigned long long)otherwise);
  host_say(host, line);
  return otherwise;
}
