// SPDX-License-Identifier: Apache-2.0
// Arguments and results of functions whose line in the list has a signature: tags of the call's span, and what clients of
// <xsp/monitor.h> are told. Called by enter.c through functions_keep, so any register may be used.
#include "tracers/functions/frame.h"
#include "tracers/functions/system.h"

#include "base/plain_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xsp/monitor.h>

#define TEXT_MOST 256

struct annotation_value {
  uint8_t type; // enum functions_type
  union {
    int64_t integer;
    double real;
    char text[TEXT_MOST + 1];
  } of;
};

// ---- values ----------------------------------------------------------------------------------------------------------

static bool is_real(uint8_t type)
{
  return type == FUNCTIONS_FLOAT || type == FUNCTIONS_DOUBLE;
}

// As much of the string as may be read; a call that is given a bad address goes on to its function.
static void copy_text(const char *from, char to[TEXT_MOST + 1])
{
  size_t length = 0;
  if (from != NULL && system_is_readable((const void *)((uintptr_t)from & ~(uintptr_t)7))) // in the same page
    length = strnlen(from, functions_window((uintptr_t)from, TEXT_MOST));
  memcpy(to, from, length);
  to[length] = '\0';
}

static void set_value(struct annotation_value *value, uint8_t type, uint64_t bits)
{
  float single;
  value->type = type;
  switch (type) {
  case FUNCTIONS_INT:
    value->of.integer = (int32_t)(uint32_t)bits;
    break;
  case FUNCTIONS_UINT:
    value->of.integer = (uint32_t)bits;
    break;
  case FUNCTIONS_TEXT:
    copy_text((const char *)bits, value->of.text);
    break;
  case FUNCTIONS_FLOAT:
    memcpy(&single, &bits, sizeof single);
    value->of.real = (double)single;
    break;
  case FUNCTIONS_DOUBLE:
    memcpy(&value->of.real, &bits, sizeof value->of.real);
    break;
  default:
    value->of.integer = (int64_t)bits;
  }
}

static uint64_t word_at(const struct functions_call *call, long offset)
{
  uint64_t word;
  memcpy(&word, (const char *)call->span + offset, sizeof word);
  return word;
}

static uint64_t vector_bits(const struct functions_call *call, unsigned number)
{
  uint64_t bits;
  memcpy(&bits, &call->vectors[number], sizeof bits);
  return bits;
}

// The calling conventions (System V x86-64, AAPCS64): integers and floating point have registers of their own; what finds
// none lies on the stack in order, eight bytes each.
static void get_argument(const struct functions_call *call, const struct function_rule *rule, unsigned which,
                         struct annotation_value *ret_value)
{
  unsigned integers = 0, reals = 0, on_stack = 0;
  for (unsigned i = 0;; i++) {
    uint8_t type = rule->parameters[i].type;
    unsigned *used = is_real(type) ? &reals : &integers, number = (*used)++;
    bool has_register = number < (is_real(type) ? FUNCTIONS_VECTORS : FUNCTIONS_REGISTERS);
    unsigned place = has_register ? 0 : on_stack++;
    if (i < which)
      continue;
    long offset = has_register ? FUNCTIONS_FRAME_ARGUMENT((long)number) : FUNCTIONS_FRAME_STACK + 8 * (long)place;
    set_value(ret_value, type, has_register && is_real(type) ? vector_bits(call, number) : word_at(call, offset));
    return;
  }
}

static void get_result(const struct functions_call *call, const struct function_rule *rule,
                       struct annotation_value *ret_value)
{
  set_value(ret_value, rule->result,
            is_real(rule->result) ? vector_bits(call, 0) : word_at(call, FUNCTIONS_FRAME_RESULT));
}

// ---- tags ------------------------------------------------------------------------------------------------------------

static void tag(const struct xsp_span *span, const char *key, const struct annotation_value *value)
{
  if (is_real(value->type))
    xsp_span_tag_double(span, key, value->of.real);
  else if (value->type == FUNCTIONS_TEXT)
    xsp_span_tag_string(span, key, value->of.text);
  else
    xsp_span_tag_int(span, key, value->of.integer);
}

static void tag_span(const struct functions_call *call, const struct function_rule *rule, bool has_returned)
{
  struct annotation_value value;
  if (has_returned && rule->result != FUNCTIONS_NO_TYPE) {
    get_result(call, rule, &value);
    tag(call->span, "result", &value);
  }
  for (unsigned i = 0; i < rule->parameter_count && !has_returned; i++) {
    get_argument(call, rule, i, &value);
    tag(call->span, rule->parameters[i].name, &value);
  }
}

// ---- <xsp/monitor.h> --------------------------------------------------------------------------------------------------

static size_t put_text(char *to, size_t size, size_t length, const char *text)
{
  for (; *text != '\0'; text++, length++)
    if (length + 1 < size)
      to[length] = *text, to[length + 1] = '\0';
  return length;
}

static size_t put_json(char *to, size_t size, size_t length, const struct annotation_value *value)
{
  char piece[32];
  if (is_real(value->type) && isfinite(value->of.real)) {
    snprintf(piece, sizeof piece, "%.15g", value->of.real);
    if (strtod(piece, NULL) != value->of.real) // some need two more digits to be read back
      snprintf(piece, sizeof piece, "%.17g", value->of.real);
    plain_number(piece);
  } else if (is_real(value->type))
    snprintf(piece, sizeof piece, "null");
  else
    snprintf(piece, sizeof piece, "%lld", (long long)value->of.integer);
  if (value->type != FUNCTIONS_TEXT)
    return put_text(to, size, length, piece);
  length = put_text(to, size, length, "\"");
  for (const unsigned char *at = (const unsigned char *)value->of.text; *at != '\0'; at++) {
    bool is_plain = *at >= ' ' && *at != '"' && *at != '\\' && *at < 0x7f;
    snprintf(piece, sizeof piece, is_plain ? "%c" : "\\u%04x", *at);
    length = put_text(to, size, length, piece);
  }
  return put_text(to, size, length, "\"");
}

static size_t describe(const struct xsp_event *event, int of_results, char *text, size_t size)
{
  const struct functions_call *call = event->subject;
  const struct function_rule *rule = functions_rule(call->entry);
  unsigned count = of_results ? rule->result != FUNCTIONS_NO_TYPE : rule->parameter_count;
  bool is_known = event->phase == (of_results ? XSP_PHASE_END : XSP_PHASE_BEGIN);
  if (count == 0 || !is_known)
    return 0;
  size_t length = 0;
  for (unsigned i = 0; i < count; i++) {
    struct annotation_value value;
    if (of_results)
      get_result(call, rule, &value);
    else
      get_argument(call, rule, i, &value);
    length = put_text(text, size, length, i == 0 ? "[" : ",");
    length = put_json(text, size, length, &value);
  }
  return put_text(text, size, length, "]");
}

struct xsp_span functions_describe(const void *which, uint64_t has_returned)
{
  const struct functions_call *call = which;
  const struct function_rule *rule = functions_rule(call->entry);
  struct xsp_context span = xsp_span_context(call->span);
  struct xsp_event event = {
      .size = sizeof event,
      .domain = XSP_DOMAIN_GPU,
      .phase = has_returned ? XSP_PHASE_END : XSP_PHASE_BEGIN,
      .source = "functions",
      .name = rule->as != NULL ? rule->as : call->entry->symbol,
      .id = span.id == 0 ? 0 : (uint64_t)span.ring << 32 | span.id,
      .sequence = -1,
      .describe = describe,
      .subject = call,
  };
  if (call->span->start != 0)
    tag_span(call, rule, has_returned != 0);
  if ((xsp_monitor_domains_v1 & (1u << XSP_DOMAIN_GPU)) != 0)
    xsp_monitor_report(&event);
  return (struct xsp_span){0, 0, 0};
}
