// SPDX-License-Identifier: Apache-2.0
// Energy that a processor's own meters counted, by powercap: /sys/class/powercap, which most kernels show to root alone.
#ifndef XSP_LAUNCH_ENERGY_H
#define XSP_LAUNCH_ENERGY_H

#include <stddef.h>

#define ENERGY_ZONES_MOST 16
#define ENERGY_FOLDER "/sys/class/powercap"
struct energy {
  size_t count;
  struct energy_zone {
    char path[320];
    char name[32];            // "package-0", "dram-1": with the package's number where the zone is a part of one
    double wraps_uj, last_uj; // a meter begins anew at `wraps`; NaN: it does not say where
    double sum_j;             // since the first reading
  } zones[ENERGY_ZONES_MOST]; // by their folders' names
};
void energy_find(const char *folder, struct energy *ret_energy);
double energy_read(struct energy_zone *zone); // joules since energy_find; NaN: it cannot be read any more

#endif
