// SPDX-License-Identifier: Apache-2.0
// What the kernel reports of a machine's processors. Called by counter_machine.c.
#ifndef XSP_LAUNCH_PROCESSORS_H
#define XSP_LAUNCH_PROCESSORS_H

#include <stdbool.h>

// From a file like /proc/stat, sums over all processors: time that the hypervisor gave to others; that they worked.
bool processors_times(const char *path, double *ret_steal_ns, double *ret_busy_ns);
// From a folder like /sys/devices/system/cpu: the mean of those of the first 32 that report it. NaN: none does, as in most virtual machines.
double processors_frequency_hz(const char *folder);

#endif
