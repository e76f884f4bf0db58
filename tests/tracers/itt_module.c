// SPDX-License-Identifier: Apache-2.0
// A shared object with ITT inside, in addition to that of the program which loads it: handles of one are used by the
// other.
#include "tests/tracers/itt_static.h"

#define VISIBLE __attribute__((visibility("default")))

VISIBLE int module_open(void);
VISIBLE struct itt_domain *module_domain(const char *name);
VISIBLE struct itt_string *module_string(const char *text);
VISIBLE void module_task(const struct itt_domain *domain, struct itt_string *name);
VISIBLE void module_close(void);

int module_open(void)
{
  return itt_open();
}

struct itt_domain *module_domain(const char *name)
{
  return itt.domain_create(name);
}

struct itt_string *module_string(const char *text)
{
  return itt.string_handle_create(text);
}

void module_task(const struct itt_domain *domain, struct itt_string *name)
{
  struct itt_id none = {0, 0, 0};
  itt.task_begin(domain, none, none, name);
  itt.task_end(domain);
}

void module_close(void)
{
  itt_close();
}
