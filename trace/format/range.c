// SPDX-License-Identifier: Apache-2.0
// What an annotation is: operator, library call, step or plain range; see range.h. Called by importers and tracers once a
// range, on text that anyone may have written: one pass over it, no allocation, no recursion, no locale.
#include "format/range.h"

#include "base/slice.h"

#include <xsp/span.h>

#include <string.h>
#include <strings.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

static bool is_digit(char byte)
{
  return byte >= '0' && byte <= '9';
}

static bool is_word(char byte)
{
  return is_digit(byte) || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

// ---- globs
// One element of a glob at `at` (not '*') against one byte. Returns the element's length, 0: no match. '[' without its
// ']' is an ordinary character.
static size_t glob_element(const char *at, char byte)
{
  if (at[0] == '?')
    return 1;
  if (at[0] == '\\' && at[1] != 0)
    return at[1] == byte ? 2 : 0;
  if (at[0] != '[')
    return at[0] == byte ? 1 : 0;
  const char *first = at + 1;
  bool negated = *first == '!' || *first == '^';
  first += negated;
  bool found = false;
  const char *next = first;
  while (*next != 0 && (*next != ']' || next == first)) {
    if (next[1] == '-' && next[2] != 0 && next[2] != ']') {
      found |= (unsigned char)next[0] <= (unsigned char)byte && (unsigned char)byte <= (unsigned char)next[2];
      next += 3;
    } else {
      found |= *next == byte;
      next++;
    }
  }
  if (*next == 0)
    return byte == '[' ? 1 : 0;
  return found != negated ? (size_t)(next - at) + 1 : 0;
}

bool range_is_wrapper(const char *name, size_t length)
{
  static const struct {
    const char *text;
    bool is_prefix;
  } wrappers[] = {{"autograd::engine::evaluate_function: ", true},
                  {"nn.Module: ", true}, // of torch.profiler: a layer where modules are asked for
                  {"Torch-Compiled Region", true},
                  {"TorchDynamo Cache Lookup", true},
                  {"Pregraph bytecode", true},
                  {"## Call CompiledFxGraph", true},
                  {"CompiledFunction", false},
                  {"CompiledFunctionBackward", false},
                  {"PythonDispatchMode", false}};
  for (size_t i = 0; i < sizeof wrappers / sizeof wrappers[0]; i++) {
    size_t wanted = strlen(wrappers[i].text);
    if ((wrappers[i].is_prefix ? length >= wanted : length == wanted) && memcmp(name, wrappers[i].text, wanted) == 0)
      return true;
  }
  return false;
}

// fnmatch on a slice: when a match fails, only the last '*' takes one byte more, so the work is bounded by the product.
bool range_matches(const char *model_range, const char *text, size_t length)
{
  if (model_range == NULL)
    return false;
  const char *glob = model_range, *after_star = NULL;
  size_t at = 0, star_at = 0;
  while (at < length) {
    if (*glob == '*') {
      after_star = ++glob;
      star_at = at;
      continue;
    }
    size_t element = *glob != 0 ? glob_element(glob, text[at]) : 0;
    if (element != 0) {
      glob += element;
      at++;
    } else if (after_star != NULL) {
      glob = after_star;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (*glob == '*')
    glob++;
  return *glob == 0;
}

// ---- library domains
// By the first word, in any case: "NCCL", "cuBLAS", "cuBLASLt", "dnnl::primitive::execute", "CUDNN 9.1".
static bool is_library(const char *domain)
{
  static const char *const names[] = {
      "nccl",     "cudnn",      "cublas",     "cublaslt",   "cublasxt", "cublasmp", "cusparse",  "cusparselt",
      "cusolver", "cusolverdn", "cusolvermp", "cusolversp", "cufft",    "cufftxt",  "cufftmp",   "onednn",
      "dnnl",     "mkldnn",     "rccl",       "miopen",     "rocblas",  "hipblas",  "hipblaslt",
  };
  size_t length = 0;
  while (is_word(domain[length]) && domain[length] != '_')
    length++;
  for (size_t i = 0; i < COUNT(names); i++)
    if (strlen(names[i]) == length && strncasecmp(names[i], domain, length) == 0)
      return true;
  return false;
}

// Each range in it is a node that OpenVINO executes, by its name (2026.4; others of its domains tell types and phases).
static bool is_node_domain(const char *domain)
{
  return strcmp(domain, "ov::op::cpu::details") == 0;
}

// ---- operators
// Decimal number at the beginning of *text, which must end there or go on with ", ". False: not so, or beyond int64.
static bool take_number(struct slice *text, int64_t *ret_number)
{
  const char *comma = text->length > 0 ? memchr(text->data, ',', text->length) : NULL;
  struct slice number = {text->data, comma != NULL ? (size_t)(comma - text->data) : text->length};
  if (!slice_int64(number, ret_number))
    return false;
  *text = slice_after(*text, number.length);
  return true;
}

// "[[64, 3], [64]]" at the beginning of *text: up to the bracket that closes the first one.
static bool take_list(struct slice *text, struct slice *ret_list)
{
  size_t depth = 0;
  if (text->length == 0 || text->data[0] != '[')
    return false;
  for (size_t at = 0; at < text->length; at++) {
    if (text->data[at] == '[')
      depth++;
    else if (text->data[at] == ']')
      depth--;
    if (depth == 0) {
      *ret_list = (struct slice){text->data, at + 1};
      *text = slice_after(*text, at + 1);
      return true;
    }
  }
  return false;
}

// What PyTorch's emit_nvtx appends to an operator's name: ", seq = N", ", op_id = N", ", sizes = […]", each optional. Takes
// one of them from the beginning of *text.
static bool take_field(struct slice *text, struct range *range)
{
  static const char seq[] = ", seq = ", op_id[] = ", op_id = ", sizes[] = ", sizes = ";
  struct slice rest;
  if (slice_starts_with(*text, seq) && range->sequence == RANGE_NO_NUMBER) {
    rest = slice_after(*text, sizeof seq - 1);
    if (!take_number(&rest, &range->sequence))
      return false;
  } else if (slice_starts_with(*text, op_id) && range->op_id == RANGE_NO_NUMBER) {
    rest = slice_after(*text, sizeof op_id - 1);
    if (!take_number(&rest, &range->op_id))
      return false;
  } else if (slice_starts_with(*text, sizes) && range->sizes == NULL) {
    struct slice list;
    rest = slice_after(*text, sizeof sizes - 1);
    if (!take_list(&rest, &list))
      return false;
    range->sizes = list.data;
    range->sizes_length = list.length;
  } else {
    return false;
  }
  *text = rest;
  return true;
}

// Cuts the fields off the text: the name is the text before the first of them. What follows the last is ignored
// (input_op_ids). Goes on from one comma to the next until a field is found, so the work is one pass.
static void read_fields(struct slice text, struct range *range)
{
  struct slice rest = text;
  while (rest.length > 0) {
    const char *comma = memchr(rest.data, ',', rest.length);
    if (comma == NULL)
      return;
    rest = slice_after(rest, (size_t)(comma - rest.data));
    // A list that never closes is read to the end of the text: nothing after it can be a field of this name.
    bool is_list = slice_starts_with(rest, ", sizes = [");
    if (take_field(&rest, range)) {
      range->name_length = (size_t)(comma - text.data);
      while (take_field(&rest, range)) {
      }
      return;
    }
    if (is_list)
      return;
    rest = slice_after(rest, 1);
  }
}

// OpenCV's dnn module names the range of every layer after its function.
static bool is_forward_layer(struct slice text)
{
  static const char word[] = "forwardLayer";
  const size_t length = sizeof word - 1;
  const char *at = memmem(text.data, text.length, word, length);
  if (at == NULL)
    return false;
  const char *end = at + length;
  return (at == text.data || !is_word(at[-1])) && (end == text.data + text.length || !is_word(*end));
}

static bool is_operator(struct slice text, const struct range *range)
{
  if (range->name_length > 0 && (range->sequence != RANGE_NO_NUMBER || range->op_id != RANGE_NO_NUMBER))
    return true;
  return (slice_starts_with(text, "aten::") && text.length > strlen("aten::")) || is_forward_layer(text);
}

// "ProfilerStep#12": PyTorch's own step, whatever wrote it down.
static bool is_framework_step(struct slice name)
{
  static const char step[] = "ProfilerStep#";
  size_t at = sizeof step - 1;
  if (!slice_starts_with(name, step) || name.length == at)
    return false;
  while (at < name.length && is_digit(name.data[at]))
    at++;
  return at == name.length;
}

void range_read(const char *domain, const char *text, size_t length, const char *model_range, struct range *ret_range)
{
  if (text == NULL)
    text = "", length = 0;
  struct range range = {
      .level = XSP_LEVEL_APPLICATION,
      .name = text,
      .name_length = length,
      .sequence = RANGE_NO_NUMBER,
      .op_id = RANGE_NO_NUMBER,
  };
  struct slice whole = {text, length};
  if (domain != NULL && (is_library(domain) || is_node_domain(domain))) {
    range.level = is_node_domain(domain) ? XSP_LEVEL_LAYER : XSP_LEVEL_LIBRARY;
    *ret_range = range;
    return;
  }
  read_fields(whole, &range);
  bool is_layer = is_operator(whole, &range);
  if (!is_layer) { // then a comma in it is no field
    range.name_length = length;
    range.sequence = range.op_id = RANGE_NO_NUMBER;
    range.sizes = NULL;
    range.sizes_length = 0;
  }
  bool matches = range_matches(model_range, text, length) || range_matches(model_range, range.name, range.name_length);
  if (matches && is_layer) // "*" means the ranges around operators; "aten::linear*" means what it says
    matches = model_range[0] != '*' && model_range[0] != '?' && model_range[0] != '[';
  if (matches || is_framework_step((struct slice){range.name, range.name_length})) {
    range.level = XSP_LEVEL_MODEL;
    range.is_step = true;
  } else if (is_layer) {
    range.level = XSP_LEVEL_LAYER;
  }
  *ret_range = range;
}

static bool ends_number(char byte) // which "8b" and "1.5" are not
{
  char lower = (char)(byte | 0x20);
  return !(lower >= 'a' && lower <= 'z') && byte != '.';
}

size_t range_stem(const char *name, size_t length, char *ret_stem, size_t size)
{
  size_t used = 0;
  for (size_t at = 0; at < length && used < size;) {
    size_t end = at;
    while (end < length && is_digit(name[end]))
      end++;
    bool is_alone = end > at && (at == 0 || memchr(" #_:/(=,[", name[at - 1], 9) != NULL) &&
                    (end == length || ends_number(name[end]));
    if (is_alone)
      at = end;
    else
      do
        ret_stem[used++] = name[at++];
      while (at < end && used < size);
  }
  bool was_numbered = length > 0 && is_digit(name[length - 1]) && used > 0 && !is_digit(ret_stem[used - 1]);
  while (was_numbered && used > 0 && (ret_stem[used - 1] == ' ' || ret_stem[used - 1] == '_'))
    used--;
  return used;
}
