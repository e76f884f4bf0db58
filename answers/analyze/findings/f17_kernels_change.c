// SPDX-License-Identifier: Apache-2.0
// F17, other kernels: those that run at one batch size and not at another. So libraries chose another algorithm.
#include "analyze/findings/rules.h"
#include "analyze/findings/shared.h"
#include "analyze/kernels/kernels.h"
#include "base/interner.h"

#include <math.h>
#include <string.h>

struct batch_kernels { // of one batch size
  struct question question;
  struct kernels kernels;
  struct kernel_groups groups; // by name
  double total_ms;
};

static enum status load(struct findings *findings, int64_t batch_size, struct batch_kernels *ret, struct error *err)
{
  struct question *question = &ret->question;
  XSP_TRY(findings_ask(findings, NULL, question, err));
  XSP_TRY(kernels_load(question, batch_size, KERNELS_ALONE, &ret->kernels, err));
  ret->groups = kernels_group_by_name(question, &ret->kernels);
  ret->total_ms = kernels_figures_of_all(question, &ret->kernels).latency.value;
  return STATUS_OK;
}

// Time of the kernels of `of` that the other batch size lacks. Fills the one with most.
static double only_ms(struct batch_kernels *of, const struct batch_kernels *other, const char **ret_name,
                      double *ret_count)
{
  struct interner names SCOPED(interner_done) = {0};
  double sum_ms = 0, most_ms = 0;
  for (size_t i = 0; i < other->groups.count; i++)
    interner_at(&names, other->kernels.names[i], strlen(other->kernels.names[i]));
  size_t known = interner_count(&names);
  for (size_t i = 0; i < of->groups.count; i++) {
    struct kernel_figures figures;
    if (interner_at(&names, of->kernels.names[i], strlen(of->kernels.names[i])) < known)
      continue;
    kernel_groups_figures(&of->groups, i, &figures);
    double ms = isnan(figures.latency.value) ? 0 : figures.latency.value;
    sum_ms += ms;
    if (ms <= most_ms)
      continue;
    most_ms = ms;
    *ret_name = of->kernels.names[i];
    *ret_count = figures.count;
  }
  return sum_ms;
}

static void judge(struct findings *findings, struct batch_kernels *own, struct batch_kernels *other)
{
  const char *own_name = NULL, *other_name = NULL;
  double own_count = NAN, other_count = NAN;
  double own_ms = only_ms(own, other, &own_name, &own_count);
  double other_ms = only_ms(other, own, &other_name, &other_count);
  double pct = analyze_share_pct(own_ms, own->total_ms);
  if (!(pct > findings_threshold(findings, "kernels_change-share")))
    return;
  struct finding *finding = findings_add(findings);
  finding->context = arena_format(findings->question->arena, "%s", own_name);
  finding->time_ms = own_ms;
  finding->share_pct = pct;
  finding->title = arena_format(
      findings->question->arena,
      "%.3g %% of the kernels' time at batch size %lld is in kernels that batch size %lld lacks: %s%s%s", pct,
      (long long)own->kernels.batch_size, (long long)other->kernels.batch_size, findings_name(findings, own_name),
      other_name != NULL ? ", there " : "", other_name != NULL ? findings_name(findings, other_name) : "");
  finding->advice =
      "compare both kernels' figures (A10 --by batch): padding to the other size, or pinned algorithms, may be "
      "faster";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "count", own_count);
  finding_number(finding, "other_count", other_count);
  finding_number(finding, "other_batch_size", (double)other->kernels.batch_size);
  finding_number(finding, "other_ms", other_ms);
}

// The nearest smaller batch size with kernels, else the nearest larger one; 0: there is none.
static int64_t neighbour(const struct view *view, int64_t batch_size)
{
  int64_t found = 0;
  for (size_t i = 0; i < view->set_count; i++) {
    int64_t other = view->sets[i].batch_size;
    if (other == 0 || other == batch_size || !kernels_exist(view, other))
      continue;
    if (other < batch_size || found == 0)
      found = other;
  }
  return found;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct view *view = findings->question->view;
  int64_t batch_size = findings->set->batch_size, other = neighbour(view, batch_size);
  struct batch_kernels kernels[2];
  if (batch_size == 0 || other == 0 || !kernels_exist(view, batch_size))
    return findings_lack(findings, err, "it has no kernels of several batch sizes");
  XSP_TRY(load(findings, batch_size, &kernels[0], err));
  XSP_TRY(load(findings, other, &kernels[1], err));
  judge(findings, &kernels[0], &kernels[1]);
  return STATUS_OK;
}

const struct finding_rule finding_f17 = {
    .id = "F17",
    .key = "kernels_change",
    .title = "kernels that change with the batch size",
    .thresholds = {{"kernels_change-share", "%", 20,
                    "of the kernels' time, in kernels that the next batch size lacks"}},
    .find = find,
};
