// SPDX-License-Identifier: Apache-2.0
// Counts a store's runs one by one, part by part: a run may have ten million spans.
#include "correlate/account.h"

#include "base/saturate.h"
#include "base/sorted.h"
#include "base/vector.h"

#include <stdlib.h>

const char *const unattributed_names[UNATTRIBUTED_REASONS] = {
    [UNATTRIBUTED_NO_LAUNCH] = "no launch",
    [UNATTRIBUTED_OUTSIDE] = "launched outside any range",
    [UNATTRIBUTED_AMBIGUOUS] = "ambiguous",
};

struct counting {
  struct import_account *account;
  uint32_t kernel, program;  // categories; 0: no span has it
  int64_t program_id;        // a parent that is none; 0: there is none such
  VECTOR(int64_t) ambiguous; // correlation ids of launches that could have had two parents, ascending
};

static enum status find_exceptions(void *context, size_t first_row, const struct store_spans *spans,
                                   const struct store_derived *derived, struct error *err)
{
  struct counting *counting = context;
  for (size_t row = 0; row < spans->count; row++) {
    if (derived->basis[row] == BASIS_AMBIGUOUS && spans->kind[row] == XSP_KIND_LAUNCH)
      *vector_add(&counting->ambiguous) = spans->correlation_id[row];
    if (counting->program != 0 && counting->program_id == 0 && spans->category[row] == counting->program &&
        spans->level[row] == XSP_LEVEL_APPLICATION)
      counting->program_id = spans->span_id[row];
  }
  return STATUS_OK;
}

// An execution takes its launch's parent, so why it has none is the launch's story.
static enum unattributed_reason reason_of(const struct counting *counting, const struct store_spans *spans,
                                          uint8_t basis, size_t row)
{
  if (basis == BASIS_AMBIGUOUS)
    return UNATTRIBUTED_AMBIGUOUS;
  if (spans->kind[row] != XSP_KIND_EXECUTION)
    return UNATTRIBUTED_OUTSIDE;
  if (basis != BASIS_CORRELATION)
    return UNATTRIBUTED_NO_LAUNCH;
  int64_t id = spans->correlation_id[row];
  size_t at = sorted_lower_bound_i64(id, counting->ambiguous.items, counting->ambiguous.count, sizeof id);
  return at < counting->ambiguous.count && counting->ambiguous.items[at] == id ? UNATTRIBUTED_AMBIGUOUS
                                                                               : UNATTRIBUTED_OUTSIDE;
}

static enum status count_rows(void *context, size_t first_row, const struct store_spans *spans,
                              const struct store_derived *derived, struct error *err)
{
  const struct counting *counting = context;
  struct import_account *account = counting->account;
  for (size_t row = 0; row < spans->count; row++) {
    account->spans_by_level[spans->level[row]]++;
    account->parents[derived->basis[row]]++;
    account->open += (spans->flags[row] & STORE_SPAN_OPEN) != 0;
    if (counting->kernel == 0 || spans->category[row] != counting->kernel || spans->level[row] != XSP_LEVEL_KERNEL ||
        spans->kind[row] == XSP_KIND_LAUNCH)
      continue;
    account->kernels++;
    account->kernels_ns = saturate_add(account->kernels_ns, spans->duration_ns[row]);
    int64_t parent_id = derived->parent_id[row];
    if (parent_id != 0 && parent_id != counting->program_id)
      continue;
    account->unattributed[reason_of(counting, spans, derived->basis[row], row)]++;
    account->unattributed_count++;
    account->unattributed_ns = saturate_add(account->unattributed_ns, spans->duration_ns[row]);
  }
  return STATUS_OK;
}

static enum status count_run(struct store *store, int64_t run_id, bool has_program, struct import_account *account,
                             struct error *err)
{
  const uint32_t shared = STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_BASIS) | STORE_BIT(STORE_FLAGS);
  const uint32_t of_kernels = STORE_BIT(STORE_KIND) | STORE_BIT(STORE_CATEGORY) | STORE_BIT(STORE_CORRELATION_ID);
  struct counting counting = {.account = account};
  enum status status = STATUS_OK;
  (void)store_find_string(store, "kernel", 6, &counting.kernel);
  if (has_program)
    (void)store_find_string(store, "program", 7, &counting.program);
  int64_t first_level, last_level;
  XSP_TRY(store_extremes(store, run_id, STORE_LEVEL, &first_level, &last_level, err));
  counting.kernel = last_level == XSP_LEVEL_KERNEL ? counting.kernel : 0;
  if (counting.kernel == 0)
    return store_walk_spans(store, run_id, shared, count_rows, &counting, err);
  status =
      store_walk_spans(store, run_id, shared | of_kernels | STORE_BIT(STORE_SPAN_ID), find_exceptions, &counting, err);
  if (status == STATUS_OK && counting.ambiguous.count > 0)
    qsort(counting.ambiguous.items, counting.ambiguous.count, sizeof(int64_t), sorted_compare_i64);
  if (status == STATUS_OK)
    status =
        store_walk_spans(store, run_id, shared | of_kernels | STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_PARENT_ID),
                         count_rows, &counting, err);
  vector_done(&counting.ambiguous);
  return status;
}

enum status correlate_account(struct store *store, struct import_account *ret_account, struct error *err)
{
  *ret_account = (struct import_account){0};
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs = NULL;
  size_t count = 0;
  XSP_TRY(store_runs(store, &arena, &runs, &count, err));
  for (size_t i = 0; i < count; i++)
    XSP_TRY(count_run(store, runs[i].run_id, false, ret_account, err));
  return STATUS_OK;
}

enum status correlate_account_run(struct store *store, int64_t run_id, struct import_account *ret_account,
                                  struct error *err)
{
  *ret_account = (struct import_account){0};
  return count_run(store, run_id, true, ret_account, err);
}
