// SPDX-License-Identifier: Apache-2.0
// Values for inputs that were not given. Deterministic: integer arithmetic from the seed and the input's name only, so that two
// level sets, two runs and two machines compute the same. Ranges must be valid for what the input's name suggests.
#include "programs/runner/inputs.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define VOCABULARY 100    // token ids: 1 up to this, exclusive; every tokenizer has that many
#define SMALL_RANGE 10    // integers of which nothing is known: 0 up to this, exclusive
#define SAMPLE_RATE 16000 // what speech models accept
#define HALF_ONE_BITS 10  // mantissa of float16

static uint64_t next_random(uint64_t *state) // SplitMix64
{
  uint64_t value = *state += UINT64_C(0x9e3779b97f4a7c15);
  value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
  value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
  return value ^ value >> 31;
}

static uint64_t hash_name(const char *name)
{
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (; *name != 0; name++)
    hash = (hash ^ (unsigned char)*name) * UINT64_C(0x100000001b3);
  return hash;
}

enum meaning {
  MEANING_MASK,
  MEANING_SEGMENT,
  MEANING_POSITION,
  MEANING_TOKEN,
  MEANING_RATE,
  MEANING_LENGTH,
  MEANING_NONE
};

static enum meaning meaning_of(const char *name)
{
  static const struct {
    const char *part;
    enum meaning meaning;
  } table[] = {{"mask", MEANING_MASK},         {"token_type", MEANING_SEGMENT}, {"segment", MEANING_SEGMENT},
               {"position", MEANING_POSITION}, {"ids", MEANING_TOKEN},          {"token", MEANING_TOKEN},
               {"sample_rate", MEANING_RATE},  {"sampling", MEANING_RATE},      {"len", MEANING_LENGTH}};
  if (strcmp(name, "sr") == 0)
    return MEANING_RATE;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
    if (strcasestr(name, table[i].part) != NULL)
      return table[i].meaning;
  return MEANING_NONE;
}

// -1 up to 1, exclusive, in steps of 2^-23: exact in every floating type from float on.
static float random_float(uint64_t *state)
{
  return (float)((int64_t)(next_random(state) >> 40) - (INT64_C(1) << 23)) * 0x1p-23f;
}

static uint16_t bfloat16_of(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return (uint16_t)(bits >> 16);
}

// Cut toward zero; below float16's normal range 0, above it its largest.
static uint16_t float16_of(float value)
{
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  int exponent = (int)(bits >> 23 & 0xff) - 127 + 15;
  uint32_t sign = bits >> 31 << 15;
  if (exponent <= 0)
    return (uint16_t)sign;
  if (exponent > 30)
    return (uint16_t)(sign | 0x7bff);
  return (uint16_t)(sign | (uint32_t)exponent << HALF_ONE_BITS | (bits >> (23 - HALF_ONE_BITS) & 0x3ff));
}

static uint64_t integer_value(enum meaning meaning, enum tensor_type type, size_t element, int64_t last_dimension,
                              uint64_t *state)
{
  switch (meaning) {
  case MEANING_MASK:
    return 1;
  case MEANING_SEGMENT:
    return 0;
  case MEANING_POSITION:
    return last_dimension > 0 ? element % (size_t)last_dimension : 0;
  case MEANING_TOKEN:
    return 1 + next_random(state) % (VOCABULARY - 1);
  case MEANING_RATE:
    return SAMPLE_RATE;
  case MEANING_LENGTH:
    return 1;
  case MEANING_NONE:
    break;
  }
  if (type == TENSOR_UINT8) // pictures
    return next_random(state) & 0xff;
  return next_random(state) % (type == TENSOR_BOOL ? 2 : SMALL_RANGE);
}

static void put_integer(char *at, enum tensor_type type, uint64_t value)
{
  memcpy(at, &value, tensor_type_facts(type)->bytes); // little-endian: the low bytes are the value
}

// The largest number of a floating type; 0: not a floating type.
static double floating_most(enum tensor_type type)
{
  switch (type) {
  case TENSOR_DOUBLE:
    return DBL_MAX;
  case TENSOR_FLOAT:
    return FLT_MAX;
  case TENSOR_BFLOAT16:
    return 0x1.fep127;
  case TENSOR_FLOAT16:
    return 65504;
  default:
    return 0;
  }
}

static void put_float(char *at, enum tensor_type type, double wide)
{
  float value = (float)wide;
  uint16_t half = type == TENSOR_FLOAT16 ? float16_of(value) : bfloat16_of(value);
  const void *source = type == TENSOR_FLOAT    ? (const void *)&value
                       : type == TENSOR_DOUBLE ? (const void *)&wide
                                               : (const void *)&half;
  memcpy(at, source, tensor_type_facts(type)->bytes);
}

// ---- by a rule -------------------------------------------------------------------------------------------------------

const char *fill_rule_problem(const struct fill_rule *rule, enum tensor_type type)
{
  static const char cannot_hold[] = "the type of this input cannot hold the values of its fill";
  const struct tensor_type_facts *facts = tensor_type_facts(type);
  double most = floating_most(type), high = rule->kind == RULE_CONSTANT ? rule->low : rule->high;
  if (rule->kind == RULE_DEFAULT)
    return NULL;
  if (type == TENSOR_STRING)
    return "texts cannot be filled with numbers";
  if (most > 0)
    return rule->low < -most || high > most || !isfinite(high - rule->low) ? cannot_hold : NULL;
  if (rule->kind == RULE_UNIFORM)
    return "uniform is for floating types; integers: [LOW, HIGH] is for this one";
  bool has_sign = facts->kind == 'i';
  double end = type == TENSOR_BOOL ? 2 : ldexp(1, (int)facts->bytes * 8 - has_sign); // the first that is too large
  bool fits = rule->low >= (has_sign ? -end : 0) && high < end && rule->low == floor(rule->low);
  return fits ? NULL : cannot_hold;
}

static double rule_value(const struct fill_rule *rule, uint64_t *state)
{
  if (rule->kind == RULE_CONSTANT)
    return rule->low;
  if (rule->kind == RULE_INTEGERS) {
    uint64_t range = (uint64_t)(rule->high - rule->low) + 1;
    return rule->low + (double)(next_random(state) % range);
  }
  return rule->low + (rule->high - rule->low) * ((double)(next_random(state) >> 11) * 0x1p-53);
}

// The value of the `element`-th item, by name and type.
static void put_default(char *at, const struct tensor *tensor, enum meaning meaning, size_t element, uint64_t *state)
{
  static const char text[] = "text", *const pointer = text;
  enum tensor_type type = tensor->info->type;
  unsigned rank = tensor->info->rank;
  if (type == TENSOR_STRING)
    memcpy(at, &pointer, sizeof pointer);
  else if (floating_most(type) > 0)
    put_float(at, type, meaning == MEANING_MASK ? 1 : (double)random_float(state));
  else
    put_integer(at, type, integer_value(meaning, type, element, rank > 0 ? tensor->shape[rank - 1] : 1, state));
}

void fill_tensor(struct tensor *tensor, const struct fill_rule *rule, uint64_t seed)
{
  enum tensor_type type = tensor->info->type;
  enum meaning meaning = meaning_of(tensor->info->name);
  unsigned bytes = tensor_type_facts(type)->bytes;
  uint64_t state = seed ^ hash_name(tensor->info->name);
  char *at = tensor->data;
  for (size_t i = 0, count = tensor->size_bytes / bytes; i < count; i++, at += bytes) {
    if (rule->kind == RULE_DEFAULT) {
      put_default(at, tensor, meaning, i, &state);
      continue;
    }
    double value = rule_value(rule, &state);
    if (floating_most(type) > 0)
      put_float(at, type, value);
    else
      put_integer(at, type, value < 0 ? (uint64_t)(int64_t)value : (uint64_t)value);
  }
}
