// SPDX-License-Identifier: Apache-2.0
// F22, double precision: a model is called with tensors of float64, so that it computes in double precision: half as fast, with
// twice the memory traffic. Or it converts to it itself, by samples in PyTorch's code for it; or NumPy computes its inputs so, which
// then become float32.
#include "analyze/findings/busiest_line.h"
#include "analyze/findings/own_lines.h"
#include "analyze/findings/rules.h"
#include "analyze/findings/server.h"
#include "analyze/findings/shared.h"
#include "analyze/findings/work_paths.h"

#include <math.h>
#include <string.h>
#include <xsp/call_path.h>

static bool is_double(const char *signature) // of PyTorch and ONNX Runtime; of XLA
{
  static const char *const types[] = {"float64[", "complex128[", "f64[", "c128["};
  for (size_t i = 0; i < sizeof types / sizeof types[0] && signature != NULL; i++)
    if (strstr(signature, types[i]) != NULL)
      return true;
  return false;
}

static enum status add(struct findings *findings, double times, struct error *err)
{
  const struct places *places = findings->places;
  struct finding *finding = findings_add(findings);
  double ns = places->has_devices ? places->total.device_ns : places->total.host_ns;
  XSP_TRY(finding_at_call(findings, finding, err));
  finding->context = "the model";
  finding->time_ms = findings_per_observation_ms(findings, ns);
  finding->share_pct = analyze_share_pct(finding->time_ms, findings->loop_ms);
  finding->saving_ms = fmin(finding->time_ms, findings->latency_ms) / 2;
  finding->saving_basis =
      "half of the operators' time: single precision moves half the bytes and computes twice as fast";
  finding->title = arena_format(findings->question->arena,
                                "the model computes in float64 (double precision) in %.0f of %zu observations", times,
                                findings->set->observation_count);
  finding->advice = "use float32: no .double() or jax_enable_x64, and .float() or dtype=torch.float32 where data come "
                    "from NumPy, whose default is float64";
  finding->confidence = CONFIDENCE_MEDIUM;
  return STATUS_OK;
}

// ---- conversions within the model ------------------------------------------------------------------------------------
enum double_kind { DOUBLE_NONE, DOUBLE_COMPUTES, DOUBLE_CONVERTS, DOUBLE_OF_NUMPY, DOUBLE_KINDS }; // kinds of lines

struct doubles { // samples of main threads in the loop
  struct store_call_paths paths;
  struct work_paths work_paths;
  struct own_lines lines;
  double all_ns, double_ns,
      by_line_ns[DOUBLE_KINDS]; // double_ns: of PyTorch, with backward passes, which no line calls
  bool *narrows;                // by context of a line of the program: NumPy makes float32 of float64 there
  bool has_algebra;             // NumPy's factorizations, solves and the like run
};

// "void at::native::AVX512::serial_vec_log_softmax_lastdim_range<double>(double const*, double*, …)".
// Not what adds floats up in double, nor products and sums: statistics that are added up, such as covariances, need the precision.
static bool computes_in_double(const struct store_frame *frame)
{
  static const char *const parts[] = {"double*", "double const*", "Vectorized<double>"};
  static const char *const others[] = {"float", "gemm", "gemv", "_sum"};
  bool is_double = false,
       is_other = frame->name == NULL || frame->module == NULL || strstr(frame->module, "/libtorch") == NULL;
  for (size_t i = 0; !is_other && i < sizeof parts / sizeof parts[0]; i++)
    is_double |= strstr(frame->name, parts[i]) != NULL;
  for (size_t i = 0; is_double && i < sizeof others / sizeof others[0]; i++)
    is_other |= strstr(frame->name, others[i]) != NULL;
  return is_double && !is_other;
}

// NumPy's loops over arrays: "DOUBLE_multiply_X86_V3", "_aligned_contig_cast_ubyte_to_double". As of PyTorch, no sums and products.
static bool is_numpys_double(const struct store_frame *frame)
{
  return strncmp(frame->name, "DOUBLE_", 7) == 0
             ? strstr(frame->name, "matmul") == NULL && strstr(frame->name, "dot") == NULL &&
                   strstr(frame->name, "_sum") == NULL
             : strstr(frame->name, "_to_double") != NULL || strstr(frame->name, "_double_to_") != NULL;
}

static void add_numpys(struct doubles *doubles, uint32_t context_id, uint32_t own, double ns)
{
  const struct store_frame *frame = &doubles->paths.frames[doubles->paths.contexts[context_id - 1].frame_id - 1];
  if (own == 0 || frame->name == NULL || frame->module == NULL || strstr(frame->module, "/_multiarray_umath") == NULL ||
      !is_numpys_double(frame))
    return;
  if (strstr(frame->name, "double_to_float") != NULL) { // alone it may be of random numbers
    doubles->narrows[own] = true;
    return;
  }
  own_lines_add(&doubles->lines, own, DOUBLE_OF_NUMPY, ns);
  doubles->by_line_ns[DOUBLE_OF_NUMPY] += ns;
}

static bool is_algebra(const struct store_frame *frame) // of NumPy; norms need no precision
{
  return (frame->module != NULL && strstr(frame->module, "/_umath_linalg") != NULL) ||
         (frame->file != NULL && strstr(frame->file, "/numpy/linalg/") != NULL && frame->name != NULL &&
          strcmp(frame->name, "norm") != 0);
}

static void add_sample(void *data, uint32_t context_id, double ns)
{
  struct doubles *doubles = data;
  if (context_id == 0)
    return;
  uint32_t own = work_path_of(&doubles->work_paths, context_id)->own;
  bool is_double = false, converts = false, is_backward = false;
  for (uint32_t id = context_id; id != 0 && id != own; id = (uint32_t)doubles->paths.contexts[id - 1].parent_id) {
    const struct store_frame *frame = &doubles->paths.frames[doubles->paths.contexts[id - 1].frame_id - 1];
    doubles->has_algebra |= is_algebra(frame);
    if (frame->kind == XSP_FRAME_PYTHON)
      continue;
    is_double |= computes_in_double(frame);
    converts |= frame->name != NULL && strstr(frame->name, "THPVariable_double") != NULL;
    is_backward |= frame->name != NULL && strstr(frame->name, "Backward") != NULL;
  }
  doubles->all_ns += ns;
  doubles->double_ns += is_double || converts ? ns : 0;
  add_numpys(doubles, context_id, own, ns);
  if ((!is_double && !converts) || is_backward || own == 0)
    return;
  enum double_kind kind = converts ? DOUBLE_CONVERTS : DOUBLE_COMPUTES;
  own_lines_add(&doubles->lines, own, kind, ns);
  doubles->by_line_ns[kind] += ns;
}

// Gaussian processes, least squares and other algebra need the precision.
static bool has_factorizations(const struct places *places)
{
  static const char *const names[] = {"aten::*cholesky*",   "aten::*_solve*", "aten::*lstsq*",     "aten::linalg_eig*",
                                      "aten::*svd*",        "aten::*_qr*",    "aten::*inverse*",   "aten::linalg_inv*",
                                      "aten::linalg_pinv*", "aten::*_lu*",    "aten::linalg_ldl*", "aten::*det"};
  for (uint32_t i = 0; i < places->count; i++)
    if (findings_name_matches(places->all[i].name, names, sizeof names / sizeof names[0]))
      return true;
  return false;
}

// Whether the function of the line, or one that calls it, makes float32 of what it computes.
static bool is_narrowed(const struct doubles *doubles, const struct own_line *line)
{
  const struct own_lines *lines = &doubles->lines;
  for (uint32_t at = 1; at <= doubles->paths.context_count; at++) {
    if (!doubles->narrows[at])
      continue;
    const struct store_frame *narrows = own_lines_frame(lines, at);
    for (uint32_t id = line->context; id != 0; id = (uint32_t)doubles->paths.contexts[id - 1].parent_id) {
      const struct store_frame *frame = own_lines_frame(lines, id);
      if (texts_equal(frame->name, narrows->name) && texts_equal(frame->file, narrows->file))
        return true;
    }
  }
  return false;
}

static void add_line(struct findings *findings, const struct doubles *doubles, enum double_kind kind, double share)
{
  const struct own_line *line = own_lines_main(&doubles->lines, kind, doubles->by_line_ns[kind]);
  bool is_numpys = kind == DOUBLE_OF_NUMPY;
  if (line == NULL || !(100 * share >= findings_threshold(findings, "float64-computing")) ||
      (is_numpys && !is_narrowed(doubles, line)))
    return;
  struct finding *finding = findings_add(findings);
  finding_at_own_line(findings, finding, &doubles->lines, line);
  finding->time_ms = share * findings->loop_ms;
  finding->share_pct = 100 * share;
  finding->saving_ms = finding->time_ms / 2;
  finding->saving_basis = "half of the time in float64, by samples: single precision moves half the bytes and computes "
                          "twice as fast; without conversions even more";
  finding->title = arena_format(findings->question->arena,
                                "%s has %s compute in float64 (double precision) for %.3g %% of the loop%s",
                                findings_name(findings, finding->context), is_numpys ? "NumPy" : "PyTorch", 100 * share,
                                is_numpys ? ", and then makes float32 of it" : "");
  finding->advice = is_numpys
                        ? "convert first: x.astype(np.float32), or np.divide(x, 255, dtype=np.float32); constants as "
                          "arrays of float32 (np.array([0.5], np.float32)), since those of float64 widen the result"
                        : "leave out .double(), and constants or arrays of NumPy in float64; float32 is precise enough "
                          "for softmax, losses and norms";
  finding->threshold = findings_threshold_of(findings, "float64-computing");
  finding->confidence = CONFIDENCE_MEDIUM;
}

static void add_within(struct findings *findings, const struct doubles *doubles)
{
  add_line(findings, doubles, doubles->by_line_ns[DOUBLE_CONVERTS] > 0 ? DOUBLE_CONVERTS : DOUBLE_COMPUTES,
           doubles->double_ns / doubles->all_ns);
  if (!doubles->has_algebra && findings->places->total.operators.ns > 0)
    add_line(findings, doubles, DOUBLE_OF_NUMPY, doubles->by_line_ns[DOUBLE_OF_NUMPY] / doubles->all_ns);
}

static enum status find_within(struct findings *findings, bool has_signatures, struct error *err)
{
  struct doubles doubles = {.all_ns = 0};
  XSP_TRY(store_call_paths(findings->question->view->store, findings->question->scratch, &doubles.paths, err));
  doubles.lines.paths = &doubles.paths;
  doubles.narrows =
      arena_alloc_array(findings->question->scratch, doubles.paths.context_count + 1, sizeof *doubles.narrows);
  work_paths_start(&doubles.work_paths, &doubles.paths, findings->question->scratch);
  enum status status = server_each_sample(findings, add_sample, &doubles, err);
  if (status == STATUS_OK && doubles.all_ns > 0 && !has_factorizations(findings->places))
    add_within(findings, &doubles);
  else if (status == STATUS_OK && doubles.all_ns == 0 && !has_signatures)
    status = findings_lack(findings, err, "its observations have no signatures, and it has no samples");
  own_lines_done(&doubles.lines);
  return status;
}

static enum status find(struct findings *findings, struct error *err)
{
  const struct places *places;
  struct observed_text *calls;
  size_t count, doubles = 0;
  XSP_TRY(findings_places(findings, &places, err));
  XSP_TRY(findings_signatures(findings, &calls, &count, err));
  for (size_t i = 0; i < count; i++)
    doubles += is_double(calls[i].text);
  if (count > 0 && analyze_share_pct((double)doubles, (double)count) >= findings_threshold(findings, "float64-share"))
    return add(findings, (double)doubles, err);
  return find_within(findings, count > 0, err);
}

const struct finding_rule finding_f22 = {
    .id = "F22",
    .key = "float64",
    .title = "double precision",
    .thresholds = {{"float64-share", "%", 50,
                    "of the observations that are called with tensors of float64, at least; or"},
                   {"float64-computing", "%", 10,
                    "time in PyTorch's or NumPy's code for it, of the main thread's in the loop"}},
    .find = find,
};
