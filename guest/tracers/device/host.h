// SPDX-License-Identifier: Apache-2.0
// Options of a tracer of a device, and its report at the end. `host` NULL, without a session: no options, nothing is said.
#ifndef XSP_TRACERS_DEVICE_HOST_H
#define XSP_TRACERS_DEVICE_HOST_H

#include <xsp/tracer.h>

void host_say(const struct xsp_host *host, const char *line);
void host_say_count(const struct xsp_host *host, uint64_t count, const char *what); // "COUNT WHAT"; not where it is 0
void host_lost(const struct xsp_host *host, uint64_t events);
const char *host_option(const struct xsp_host *host, const char *name); // NULL: not given
// Says so where the option's value is no number of this range.
uint64_t host_number(const struct xsp_host *host, const char *name, uint64_t least, uint64_t most, uint64_t otherwise);

#endif
