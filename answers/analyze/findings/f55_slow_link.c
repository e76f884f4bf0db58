// SPDX-License-Identifier: Apache-2.0
// F55, slow link: of process groups of equal size that exchange alike, one takes much longer for a byte than the others.
#include "analyze/findings/ranks.h"
#include "analyze/findings/rules.h"

#include "base/sorted.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define GROUPS_LEAST 3     // which are compared
#define EXCHANGES_LEAST 10 // of a group

// Of all ranks together: what one collective takes on each of them is no measurement of its own.
static double exchanges(const struct link *link)
{
  return link->count / link->key.ranks;
}

// The median: on a busy machine, single exchanges take many times as long.
static double ns_per_byte(const struct link *link)
{
  const double *values = link->ns_per_byte.items;
  size_t count = link->ns_per_byte.count;
  return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

// The median is above it with 97.5 % confidence: a quantile, by the normal approximation of the binomial distribution.
static double low_ns_per_byte(const struct link *link)
{
  double quantile = 0.5 - 1.96 * 0.5 / sqrt(exchanges(link));
  return link->ns_per_byte.items[(size_t)(quantile * (double)(link->ns_per_byte.count - 1))];
}

// Of the others that are compared with it; NaN: too few. `*ret_count`: they.
static double median_of_others(const struct links *links, const struct link *of, double *values, size_t *ret_count)
{
  size_t count = 0;
  for (size_t i = 0; i < links->items.count; i++) {
    const struct link *link = &links->items.items[i];
    if (link != of && memcmp(&link->key, &of->key, sizeof of->key) == 0 && exchanges(link) >= EXCHANGES_LEAST)
      values[count++] = ns_per_byte(link);
  }
  *ret_count = count;
  qsort(values, count, sizeof *values, sorted_compare_double);
  return count + 1 >= GROUPS_LEAST ? (values[(count - 1) / 2] + values[count / 2]) / 2 : NAN;
}

static int64_t bare_transfer_ns(const struct rank_step *step)
{
  return step->exposed_ns - step->stalled_ns;
}

static const char *list_members(const struct ranks *ranks, const struct link *of, struct arena *arena)
{
  const char *text = "";
  for (uint32_t i = 0; i < of->member_count; i++)
    text = arena_format(arena, "%s%s%lld", text, i > 0 ? ", " : "", (long long)ranks->items.items[of->members[i]].rank);
  return of->key.ranks > of->member_count ? arena_format(arena, "%s, …", text) : text;
}

static void add(struct findings *findings, const struct ranks *ranks, const struct link *of, double others,
                size_t count)
{
  struct arena *arena = findings->question->arena;
  uint32_t member = of->members[0];
  double steps = (double)ranks->items.items[member].steps * of->key.ranks;
  double lost_ms = (ns_per_byte(of) - others) * of->bytes / steps / 1e6;
  struct finding *finding = findings_add(findings);
  finding->context = "collectives";
  finding->title = arena_format(
      arena, "%s between ranks %s takes %.3g times as long as in %zu other groups of as many ranks and bytes",
      ranks_collective_kind(ranks, &of->first), list_members(ranks, of, arena), ns_per_byte(of) / others, count);
  finding->time_ms = of->transfer_ns / steps / 1e6;
  finding->share_pct = analyze_share_pct(finding->time_ms, rank_figure_ms(ranks, member, rank_step_ns));
  finding->saving_ms = fmax(fmin(lost_ms, rank_figure_ms(ranks, member, bare_transfer_ns)), 0);
  finding->saving_basis = "what it takes longer than in the median of the other groups, without compute";
  finding->advice =
      "look at the link, the adapter and the place of these ranks: another rate or errors (ethtool, ibstat), "
      "another switch, a shared port, a slower path between devices (nvidia-smi topo -m)";
  finding->confidence = CONFIDENCE_MEDIUM;
  finding_number(finding, "times", ns_per_byte(of) / others);
  finding_number(finding, "groups", (double)count + 1);
  finding_number(finding, "bytes", of->bytes / of->count);
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct ranks *ranks;
  XSP_TRY(findings_ranks(findings, &ranks, err));
  if (ranks == NULL)
    return STATUS_OK;
  struct links *links = &findings->ranks->links;
  findings_sort_links(links);
  double *values = arena_alloc_array(findings->question->scratch, links->items.count + 1, sizeof *values);
  for (size_t i = 0, count = 0; i < links->items.count; i++) {
    const struct link *link = &links->items.items[i];
    if (exchanges(link) < EXCHANGES_LEAST)
      continue;
    double others = median_of_others(links, link, values, &count);
    if (others > 0 && low_ns_per_byte(link) >= findings_threshold(findings, "slow_link-times") * others)
      add(findings, ranks, link, others, count);
  }
  return STATUS_OK;
}

const struct finding_rule finding_f55 = {
    .id = "F55",
    .key = "slow_link",
    .title = "slow link",
    .thresholds = {{"slow_link-times", "", 2, "time of a byte, of the median of the other groups, at least"}},
    .find = find,
};
