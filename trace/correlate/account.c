// SPDX-License-Identifier: Apache-2.0
// Counts a store's runs one by one, with the columns that it needs only: a run may have ten million spans.
#include "correlate/account.h"

#include "base/saturate.h"
#include "base/sorted.h"

#include <stdlib.h>

const char *const unattributed_names[UNATTRIBUTED_REASONS] = {
    [UNATTRIBUTED_NO_LAUNCH] = "no launch",
    [UNATTRIBUTED_OUTSIDE] = "launched outside any range",
    [UNATTRIBUTED_AMBIGUOUS] = "ambiguous",
};

struct counting {
  struct store_spans spans;
  struct store_derived derived;
  int64_t program_id; // a parent that is none; 0: there is none such
  int64_t *ambiguous; // correlation ids of launches that could have had two parents, ascending
  size_t ambiguous_count;
};

static void list_ambiguous_launches(struct counting *counting, struct arena *arena)
{
  size_t count = 0;
  for (size_t row = 0; row < counting->derived.count; row++)
    count += counting->derived.basis[row] == BASIS_AMBIGUOUS;
  counting->ambiguous = arena_alloc_array(arena, count + 1, sizeof *counting->ambiguous);
  for (size_t row = 0; row < counting->derived.count && count > 0; row++)
    if (counting->derived.basis[row] == BASIS_AMBIGUOUS && counting->spans.kind[row] == XSP_KIND_LAUNCH)
      counting->ambiguous[counting->ambiguous_count++] = counting->spans.correlation_id[row];
  qsort(counting->ambiguous, counting->ambiguous_count, sizeof *counting->ambiguous, sorted_compare_i64);
}

// An execution takes its launch's parent, so why it has none is the launch's story.
static enum unattributed_reason reason_of(const struct counting *counting, size_t row)
{
  if (counting->derived.basis[row] == BASIS_AMBIGUOUS)
    return UNATTRIBUTED_AMBIGUOUS;
  if (counting->spans.kind[row] != XSP_KIND_EXECUTION)
    return UNATTRIBUTED_OUTSIDE;
  if (counting->derived.basis[row] != BASIS_CORRELATION)
    return UNATTRIBUTED_NO_LAUNCH;
  int64_t id = counting->spans.correlation_id[row];
  size_t at = sorted_lower_bound_i64(id, counting->ambiguous, counting->ambiguous_count, sizeof id);
  return at < counting->ambiguous_count && counting->ambiguous[at] == id ? UNATTRIBUTED_AMBIGUOUS
                                                                         : UNATTRIBUTED_OUTSIDE;
}

static void find_program(struct counting *counting, uint32_t program)
{
  const struct store_spans *spans = &counting->spans;
  for (size_t row = 0; row < spans->count && program != 0 && counting->program_id == 0; row++)
    if (spans->category[row] == program && spans->level[row] == XSP_LEVEL_APPLICATION)
      counting->program_id = spans->span_id[row];
}

static void count_rows(const struct counting *counting, uint32_t kernel, struct import_account *account)
{
  const struct store_spans *spans = &counting->spans;
  for (size_t row = 0; row < spans->count; row++) {
    account->spans_by_level[spans->level[row]]++;
    account->parents[counting->derived.basis[row]]++;
    account->open += (spans->flags[row] & STORE_SPAN_OPEN) != 0;
    if (kernel == 0 || spans->category[row] != kernel || spans->level[row] != XSP_LEVEL_KERNEL ||
        counting->spans.kind[row] == XSP_KIND_LAUNCH)
      continue;
    account->kernels++;
    account->kernels_ns = saturate_add(account->kernels_ns, spans->duration_ns[row]);
    int64_t parent_id = counting->derived.parent_id[row];
    if (parent_id != 0 && parent_id != counting->program_id)
      continue;
    account->unattributed[reason_of(counting, row)]++;
    account->unattributed_count++;
    account->unattributed_ns = saturate_add(account->unattributed_ns, spans->duration_ns[row]);
  }
}

static enum status count_run(struct store *store, int64_t run_id, bool has_program, struct arena *arena,
                             struct import_account *account, struct error *err)
{
  struct counting counting = {0};
  uint32_t columns = STORE_BIT(STORE_LEVEL) | STORE_BIT(STORE_KIND) | STORE_BIT(STORE_CATEGORY) |
                     STORE_BIT(STORE_DURATION_NS) | STORE_BIT(STORE_CORRELATION_ID) | STORE_BIT(STORE_FLAGS) |
                     STORE_BIT(STORE_SPAN_ID);
  XSP_TRY(store_load_spans(store, run_id, columns, arena, &counting.spans, err));
  XSP_TRY(store_load_derived_columns(store, run_id, STORE_BIT(STORE_PARENT_ID) | STORE_BIT(STORE_BASIS), arena,
                                     &counting.derived, err));
  list_ambiguous_launches(&counting, arena);
  uint32_t kernel = 0, program = 0;
  (void)store_find_string(store, "kernel", 6, &kernel);
  if (has_program && store_find_string(store, "program", 7, &program))
    find_program(&counting, program);
  count_rows(&counting, kernel, account);
  return STATUS_OK;
}

enum status correlate_account(struct store *store, struct import_account *ret_account, struct error *err)
{
  *ret_account = (struct import_account){0};
  struct arena arena SCOPED(arena_done) = {0};
  struct store_run *runs = NULL;
  size_t count = 0;
  XSP_TRY(store_runs(store, &arena, &runs, &count, err));
  for (size_t i = 0; i < count; i++) {
    struct arena columns SCOPED(arena_done) = {0};
    XSP_TRY(count_run(store, runs[i].run_id, false, &columns, ret_account, err));
  }
  return STATUS_OK;
}

enum status correlate_account_run(struct store *store, int64_t run_id, struct import_account *ret_account,
                                  struct error *err)
{
  struct arena columns SCOPED(arena_done) = {0};
  *ret_account = (struct import_account){0};
  return count_run(store, run_id, true, &columns, ret_account, err);
}
