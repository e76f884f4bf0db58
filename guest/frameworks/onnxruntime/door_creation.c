// SPDX-License-Identifier: Apache-2.0
// Creation of sessions, for both ways into ONNX Runtime: a span from when the program asked for one to when it could run.
#include "frameworks/onnxruntime/door_runs.h"

#include <stdio.h>

#define MODELS 64u // more have no numbers

// How many sessions of the model there were before; `ret_number`: of the model. False: too many models.
static bool count_session(const struct xsp_site *model, unsigned *ret_number, unsigned *ret_before)
{
  static const struct xsp_site *models[MODELS]; // atomic
  static unsigned counts[MODELS];               // atomic
  for (unsigned i = 0; i < MODELS; i++) {
    const struct xsp_site *there = NULL;
    if (!__atomic_compare_exchange_n(&models[i], &there, model, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
        there != model)
      continue;
    *ret_number = i;
    *ret_before = __atomic_fetch_add(&counts[i], 1, __ATOMIC_RELAXED);
    return true;
  }
  return false;
}

void ort_creation_ends(uint64_t asked, const struct xsp_site *model)
{
  static struct xsp_site *the_site; // atomic
  struct xsp_site *site = __atomic_load_n(&the_site, __ATOMIC_ACQUIRE);
  if (site == NULL) {
    site = xsp_site_create(framework_onnxruntime.name, XSP_LEVEL_APPLICATION, "onnxruntime session", "compile");
    __atomic_store_n(&the_site, site, __ATOMIC_RELEASE);
  }
  struct xsp_interval interval = {.size = sizeof interval, .start = asked, .end = xsp_clock_ticks()};
  struct xsp_span span = xsp_span_emit(site, &interval);
  unsigned number, before;
  if (model == NULL)
    return;
  xsp_span_tag_string(&span, "function", model->name);
  if (!count_session(model, &number, &before))
    return;
  char id[32];
  snprintf(id, sizeof id, "%u/%u", number, before);
  xsp_span_tag_string(&span, "compile_id", id);
  if (before > 0)
    xsp_span_tag_string(&span, "reason", "another session of the model");
}
