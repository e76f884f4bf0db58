// SPDX-License-Identifier: Apache-2.0
// F57, slow type: matrix products and convolutions on the host in a type for which PyTorch has no fast code on this processor, such as
// float16. By samples in its plain loops over elements.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"

#include <string.h>
#include <xsp/call_path.h>

enum slow_type { TYPE_NONE, TYPE_FLOAT16, TYPE_BFLOAT16, TYPES };

struct slow { // samples of main threads in the loop
  struct store_call_paths paths;
  double ns[TYPES], all_ns;
};

static bool has_one(const char *name, const char *const *parts, size_t count)
{
  for (size_t i = 0; i < count; i++)
    if (strstr(name, parts[i]) != NULL)
      return true;
  return false;
}

#define HAS_ONE(name, parts) has_one(name, parts, sizeof(parts) / sizeof(parts)[0])

// A path through plain loops: "at::native::cpublas::gemm_transb_impl<c10::Half, float>(…)", also mangled. Names may be cut, so any
// frame of it may have the type.
static enum slow_type type_of(const struct store_call_paths *paths, uint32_t context_id)
{
  static const char *const loops[] = {"cpublas_gemm_impl", "gemm_notrans", "gemm_trans", "unfolded2d"};
  static const char *const float16[] = {"Half", "fp16_"}, *const bfloat16[] = {"BFloat16", "bf16_"};
  bool is_loop = false;
  enum slow_type type = TYPE_NONE;
  for (uint32_t id = context_id; id != 0; id = (uint32_t)paths->contexts[id - 1].parent_id) {
    const struct store_frame *frame = &paths->frames[paths->contexts[id - 1].frame_id - 1];
    if (frame->kind != XSP_FRAME_NATIVE)
      break;
    if (frame->name == NULL)
      continue;
    is_loop |= HAS_ONE(frame->name, loops);
    if (type == TYPE_NONE)
      type = HAS_ONE(frame->name, bfloat16) ? TYPE_BFLOAT16 : HAS_ONE(frame->name, float16) ? TYPE_FLOAT16 : TYPE_NONE;
  }
  return is_loop ? type : TYPE_NONE;
}

static void add_sample(void *data, uint32_t context_id, double ns)
{
  struct slow *slow = data;
  slow->all_ns += ns;
  slow->ns[type_of(&slow->paths, context_id)] += ns;
}

static enum status add(struct findings *findings, const char *type, double share, struct error *err)
{
  struct finding *finding = findings_add(findings);
  XSP_TRY(finding_at_call(findings, finding, err));
  finding->context = type;
  finding->share_pct = 100 * share;
  finding->time_ms = finding->saving_ms = share * findings->loop_ms;
  finding->saving_basis = "time of these loops, by samples, as if they took none";
  finding->title =
      arena_format(findings->question->arena,
                   "matrix products and convolutions in %s have no fast code on this processor: %.3g %% of "
                   "the loop is in PyTorch's plain loops for it",
                   type, 100 * share);
  finding->advice =
      "compute in float32, or in bfloat16 where the processor has AVX512_BF16 or AMX; float16 is for devices";
  finding->confidence = CONFIDENCE_HIGH;
  return STATUS_OK;
}

static enum status find(struct findings *findings, struct error *err)
{
  static const char *const names[TYPES] = {[TYPE_FLOAT16] = "float16", [TYPE_BFLOAT16] = "bfloat16"};
  struct slow slow = {.all_ns = 0};
  const struct places *places;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(store_call_paths(findings->question->view->store, findings->question->scratch, &slow.paths, err));
  XSP_TRY(server_each_sample(findings, add_sample, &slow, err));
  if (slow.all_ns == 0)
    return findings_lack(findings, err, "it has no samples (xsp run -t cpu)");
  for (enum slow_type type = TYPE_NONE + 1; type < TYPES; type++)
    if (100 * slow.ns[type] / slow.all_ns >= findings_threshold(findings, "slow_type-share"))
      XSP_TRY(add(findings, names[type], slow.ns[type] / slow.all_ns, err));
  return STATUS_OK;
}

const struct finding_rule finding_f57 = {
    .id = "F57",
    .key = "slow_type",
    .title = "products in a type without fast code",
    .thresholds =
        {{"slow_type-share", "%", 10,
          "time of the main thread in plain loops for float16 or bfloat16, of its time in the loop, at least"}},
    .find = find,
};
