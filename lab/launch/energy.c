// SPDX-License-Identifier: Apache-2.0
// Reads powercap's meters; see energy.h. Called by counter_machine.c.
#include "launch/energy.h"

#include "base/scoped.h"
#include "base/small_file.h"
#include "base/sorted.h"

#include <dirent.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PREFIX "intel-rapl:" // AMD's meters, too; "intel-rapl-mmio:" counts a package a second time

static double read_number(const char *folder, const char *name)
{
  char path[400], text[32], *end;
  snprintf(path, sizeof path, "%s/%s", folder, name);
  if (!small_file_line(path, text, sizeof text))
    return NAN;
  double number = strtod(text, &end);
  return end != text && number >= 0 ? number : (double)NAN;
}

// "intel-rapl:1:0" is part 0 of package 1.
static void add_zone(struct energy *energy, const char *folder, const char *entry)
{
  struct energy_zone *zone = &energy->zones[energy->count];
  char path[400], name[20];
  if (snprintf(zone->path, sizeof zone->path, "%s/%s", folder, entry) >= (int)sizeof zone->path)
    return;
  zone->last_uj = read_number(zone->path, "energy_uj");
  snprintf(path, sizeof path, "%s/name", zone->path);
  if (isnan(zone->last_uj) || !small_file_line(path, name, sizeof name))
    return;
  const char *package = entry + strlen(PREFIX);
  const bool is_part = strchr(package, ':') != NULL;
  snprintf(zone->name, sizeof zone->name, is_part ? "%s-%.*s" : "%s", name, (int)strcspn(package, ":"), package);
  zone->wraps_uj = read_number(zone->path, "max_energy_range_uj");
  zone->sum_j = 0;
  energy->count++;
}

SORTED_BY(compare_zones, struct energy_zone, strcmp(a->path, b->path))

void energy_find(const char *folder, struct energy *ret_energy)
{
  *ret_energy = (struct energy){0};
  DIR *entries SCOPED(scoped_closedir) = opendir(folder);
  const struct dirent *entry;
  while (entries != NULL && ret_energy->count < ENERGY_ZONES_MOST && (entry = readdir(entries)) != NULL)
    if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0)
      add_zone(ret_energy, folder, entry->d_name);
  qsort(ret_energy->zones, ret_energy->count, sizeof ret_energy->zones[0], compare_zones);
}

double energy_read(struct energy_zone *zone)
{
  const double now_uj = read_number(zone->path, "energy_uj");
  double grown_uj = now_uj - zone->last_uj;
  if (grown_uj < 0)
    grown_uj += zone->wraps_uj;
  if (isnan(grown_uj))
    return NAN;
  zone->last_uj = now_uj;
  zone->sum_j += grown_uj > 0 ? grown_uj / 1e6 : 0;
  return zone->sum_j;
}
