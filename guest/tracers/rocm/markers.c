// SPDX-License-Identifier: Apache-2.0
// Called by rocprofiler-sdk at the beginning and end of ROCTx's calls, on the program's threads. Messages are valid during the call
// only. Ranges that any thread may stop have ROCTx's numbers, which ascend: open ones are kept in a table of fixed size.
#include "tracers/rocm/markers.h"

#include "tracers/annotations/annotations.h"
#include "tracers/annotations/fast.h"

#include <string.h>

#define OPEN_MOST 4096u

static struct open_range {
  uint64_t number; // atomic: ROCTx's + 1; 0: free
  uint64_t id;     // ours
} open_ranges[OPEN_MOST];
uint64_t rocm_markers_lost;

static struct annotation_domain *domain(void)
{
  static struct annotation_domain *known; // atomic; equal names give the same
  struct annotation_domain *found = __atomic_load_n(&known, __ATOMIC_ACQUIRE);
  if (found == NULL)
    __atomic_store_n(&known, found = annotation_domain(NULL), __ATOMIC_RELEASE);
  return found;
}

static const struct annotation *find(const char *text, size_t *ret_length)
{
  const struct annotation *annotation = annotation_find_text(domain(), NULL, text);
  *ret_length = annotation->has_varying_tags ? annotation_length_of(annotation, text) : 0;
  return annotation;
}

static void start(uint64_t number, const char *text)
{
  struct open_range *open = &open_ranges[number % OPEN_MOST];
  uint64_t none = 0;
  size_t length;
  const struct annotation *annotation = find(text, &length);
  if (__atomic_compare_exchange_n(&open->number, &none, number + 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
    open->id = annotation_range_start(domain(), annotation, text, length); // nobody else has the number yet
  else
    __atomic_add_fetch(&rocm_markers_lost, 1, __ATOMIC_RELAXED);
}

static void stop(uint64_t number)
{
  struct open_range *open = &open_ranges[number % OPEN_MOST];
  if (__atomic_load_n(&open->number, __ATOMIC_ACQUIRE) != number + 1)
    return;
  annotation_range_end(open->id);
  __atomic_store_n(&open->number, 0, __ATOMIC_RELEASE);
}

void rocm_markers_note(const struct rocm_event *event, void *user_data, void *rocm)
{
  const struct rocm_event_end *end = rocm_event_end(rocm, event);
  const struct rocm_marker *marker = end->payload;
  size_t length;
  // A range has its number when its start returns.
  if (marker == NULL || end->phase != (end->operation == ROCM_START ? ROCM_PHASE_EXIT : ROCM_PHASE_ENTER))
    return;
  bool has_text = end->operation == ROCM_MARK || end->operation == ROCM_PUSH || end->operation == ROCM_START;
  const char *text = has_text && marker->message != NULL ? marker->message : "(unnamed)";
  switch (end->operation) {
  case ROCM_MARK:
    annotation_mark(domain(), text, strlen(text));
    break;
  case ROCM_PUSH: {
    const struct annotation *annotation = find(text, &length);
    annotation_push(domain(), annotation, text, length, NULL);
    break;
  }
  case ROCM_POP:
    annotation_pop(domain());
    break;
  case ROCM_START:
    start(marker->started_range, text);
    break;
  case ROCM_STOP:
    stop(marker->range);
    break;
  default:
    break;
  }
}
