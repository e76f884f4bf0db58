// SPDX-License-Identifier: Apache-2.0
// The cause as one sentence: one for each rule of answers/analyze/causes. Called by the summaries and the page.
#include "report/report.h"

#include "report/display.h"
#include "report/kernel_names.h"

#include <math.h>
#include <string.h>

#define NAME_COLUMNS 60
#define LEAST_HOST_PCT 1

static void put_ms(double ms, struct buf *out)
{
  buf_format(out, ms < 1 ? "%.3g µs" : "%.3g ms", ms < 1 ? ms * 1e3 : ms);
}

static void put_text(const char *text, struct buf *out)
{
  display_cut(out, text, strlen(text), NAME_COLUMNS);
}

static void put_name(const struct cause *of, struct buf *out)
{
  struct arena arena SCOPED(arena_done) = {0};
  const char *name = of->name;
  if (of->name_is_kernel)
    page_kernel_names_short(&of->name, 1, &arena, &name);
  put_text(name, out);
}

static void put_idle(const struct cause *of, struct buf *out)
{
  buf_format(out,
             of->has_devices ? "all devices are idle %.3g %% of the time" : "the device is idle %.3g %% of the time",
             of->idle_pct);
}

static void put_recording(const struct cause *of, struct buf *out)
{
  buf_format(out, "%.3g %% of the time is the cost of recording %s, which takes %.3g times as long as the model alone",
             100 - 100 / of->slower_times, of->levels, of->slower_times);
}

static void put_loader(const struct cause *of, struct buf *out)
{
  buf_format(out, "%.3g %% of the time is spent in the data loader", of->loader_pct);
  if (isnan(of->idle_pct))
    return;
  buf_text(out, "; ");
  put_idle(of, out);
}

static void put_calls(const struct cause *of, struct buf *out)
{
  put_idle(of, out);
  buf_format(out, ", mostly while the host calls the device's interface (%.3g %% of the time)",
             of->part_pct[TIME_CALLS]);
  if (of->call == NULL)
    return;
  buf_text(out, ", above all ");
  put_text(of->call, out);
}

static void put_operators(const struct cause *of, struct buf *out)
{
  put_idle(of, out);
  buf_format(out, ", mostly while the host runs layers and launches work (%.3g %% of the time)",
             cause_operators_pct(of));
  if (of->launch != NULL) { // then it is not the size of the kernels
    buf_text(out, ", above all in one call of ");
    put_text(of->launch, out);
    buf_text(out, ", which takes ");
    put_ms(of->launch_ms, out);
  } else if (!isnan(of->kernel_ms)) {
    buf_text(out, "; a kernel takes ");
    put_ms(of->kernel_ms, out);
    buf_text(out, " on average");
  }
}

static void put_program(const struct cause *of, struct buf *out)
{
  put_idle(of, out);
  if (of->has_layers)
    buf_format(out, ", mostly while the program runs outside of layers (%.3g %% of the time)", cause_outside_pct(of));
  else if (of->host == NULL)
    buf_text(out, "; what the host does meanwhile was not recorded");
  else if (of->host_pct >= LEAST_HOST_PCT) {
    buf_format(out, ", %.3g %% of the time while the host is in ", of->host_pct);
    put_text(of->host, out);
  }
}

static void put_copies(const struct cause *of, struct buf *out)
{
  buf_format(out, "the device only copies %.3g %% of the time, and runs kernels %.3g %%", of->part_pct[TIME_COPIES],
             of->part_pct[TIME_KERNELS]);
}

static void put_share(const struct cause *of, const char *of_what, struct buf *out)
{
  if (of->name == NULL || isnan(of->name_pct))
    return;
  buf_text(out, "; ");
  put_name(of, out);
  buf_format(out, " takes %.3g %% of the %s", of->name_pct, of_what);
}

static void put_kernels(const struct cause *of, struct buf *out)
{
  buf_format(out, of->has_devices ? "a device is busy %.3g %% of the time" : "the device is busy %.3g %% of the time",
             100 - of->idle_pct);
  put_share(of, of->name_is_kernel ? "kernels' time" : "layers' device time", out);
  if (of->has_layers && of->unattributed_pct >= 50)
    buf_format(out, ", of which %.3g %% belongs to no layer", of->unattributed_pct);
}

static void put_layers(const struct cause *of, struct buf *out)
{
  buf_format(out, "layers take %.3g %% of the time", of->part_pct[TIME_LAYERS]);
  put_share(of, "layers' time", out);
}

static void put_outside_layers(const struct cause *of, struct buf *out)
{
  buf_format(out, "%.3g %% of the time is spent outside of layers", cause_outside_pct(of));
}

static void put_unrecorded(const struct cause *of, struct buf *out)
{
  buf_format(out, "%.3g %% of the time is in no recorded range, layer or kernel", of->part_pct[TIME_REST]);
}

static const struct sentence {
  const char *rule;
  void (*put)(const struct cause *of, struct buf *out);
} sentences[] = {
    {"recording", put_recording},   {"data_loader", put_loader}, {"device_calls", put_calls},
    {"operators", put_operators},   {"program", put_program},    {"copies", put_copies},
    {"kernels", put_kernels},       {"layers", put_layers},      {"outside_layers", put_outside_layers},
    {"unrecorded", put_unrecorded},
};

void report_cause(const struct cause *of, struct buf *out)
{
  if (of->text != NULL) {
    display_escape(out, of->text, strlen(of->text));
    return;
  }
  if (of->batch_size != 0)
    buf_format(out, "at batch size %lld, ", (long long)of->batch_size);
  for (size_t i = 0; i < sizeof sentences / sizeof sentences[0]; i++)
    if (strcmp(sentences[i].rule, of->rule) == 0)
      sentences[i].put(of, out);
}

void report_causes(const struct cause *causes, size_t count, struct buf *out)
{
  for (size_t i = 0; i < count; i++) {
    buf_text(out, "cause    ");
    if (causes[i].experiment != NULL) {
      display_escape(out, causes[i].experiment, strlen(causes[i].experiment));
      buf_text(out, ": ");
    }
    report_cause(&causes[i], out);
    buf_text(out, "\n");
  }
}
