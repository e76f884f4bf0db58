// SPDX-License-Identifier: Apache-2.0
// Modules that XLA compiled, as the file describes them (HloProto): what an operation is made of, which line it comes from,
// and which loop runs it. Called by names.c.
#include "importers/xplane/devices.h"
#include "importers/xplane/frames.h"
#include "importers/xplane/instructions.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/saturate.h"

#include <inttypes.h>

// Numbers of fields in hlo.proto and xla_data.proto.
enum { PROTO_MODULE = 1 };
enum {
  MODULE_NAME = 1,
  MODULE_COMPUTATIONS = 3,
  MODULE_PROGRAM_SHAPE = 4,
  MODULE_ALIASES = 8,
  MODULE_DEVICES = 15,
  MODULE_FRAMES = 17,
  MODULE_DONORS = 18
};
enum { LIST_ENTRIES = 1 }; // of aliases, and of donors without a result of their shape
enum { PROGRAM_PARAMETERS = 1 };
enum { COMPUTATION_INSTRUCTIONS = 2, COMPUTATION_ID = 5 };
enum {
  INSTRUCTION_NAME = 1,
  INSTRUCTION_OPCODE = 2,
  INSTRUCTION_SHAPE = 3,
  INSTRUCTION_METADATA = 7,
  INSTRUCTION_ID = 35,
  INSTRUCTION_OPERANDS = 36,
  INSTRUCTION_CALLED = 38
};
enum { METADATA_NAME = 2, METADATA_FILE = 3, METADATA_LINE = 4, METADATA_FRAME = 15 };
#define CALLED_MOST 64u         // computations of one operation: branches
#define SOURCES_MOST 32u        // source operations that a fused one lists
#define SOURCES_BYTES_MOST 8192 // of their text: many operations may share a file of any name
#define SIGNATURE_MOST 6u       // parameters that a signature writes out

struct instruction {
  struct slice name, opcode, shape, primitive, file;
  struct slice operands; // numbers of instructions, packed
  uint64_t line, frame, computation;
  struct wire all;                      // its fields
  uint64_t listed_groups, newer_groups; // of a collective: the same ones, as versions of XLA write them
  uint64_t called[CALLED_MOST];
  size_t called_count;
};
struct module { // that is being read
  struct xplane *x;
  uint32_t number; // its place + 1
  struct xplane_frames frames;
  VECTOR(struct instruction) instructions;
  struct map computation_at; // its id → first instruction + 1
  struct map caller_of;      // computation's id → instruction + 1
  struct map instruction_at; // its id → instruction + 1
  struct xplane_grouping grouping;
};

// ---- texts -----------------------------------------------------------------------------------------------------------

static uint32_t keep(struct module *module, struct slice text)
{
  return interner_at(&module->x->texts, text.length > 0 ? text.data : "", text.length);
}

static struct slice buf_slice(const struct buf *text)
{
  return (struct slice){text->data, text->length};
}

static uint32_t shape_text(struct module *module, struct slice shape)
{
  struct buf text SCOPED(buf_done) = {0};
  xplane_put_shape(&text, wire_over(shape.data, shape.length));
  return keep(module, buf_slice(&text));
}

// ---- what a module is called with ------------------------------------------------------------------------------------

static void read_signature(struct module *module, struct wire program)
{
  struct xplane_module *kept = &module->x->modules.items[module->number - 1];
  struct wire_field field;
  struct buf text SCOPED(buf_done) = {0};
  size_t count = 0, shown = 0;
  while (wire_find(&program, PROGRAM_PARAMETERS, WIRE_BYTES, &field)) {
    if (count++ > 0)
      buf_text(&text, ", ");
    xplane_put_shape(&text, wire_inside(&field));
    if (count == SIGNATURE_MOST)
      shown = text.length;
  }
  kept->parameters_hash = hash_text(text.length > 0 ? text.data : "", text.length, 1);
  if (count > SIGNATURE_MOST) {
    text.length = shown;
    buf_format(&text, ", ... (%zu arrays)", count);
  }
  kept->signature = keep(module, buf_slice(&text));
}

static void count_donated(struct module *module, struct wire list)
{
  struct wire_field field;
  while (wire_find(&list, LIST_ENTRIES, WIRE_BYTES, &field))
    module->x->modules.items[module->number - 1].donated++;
}

// ---- where operations come from --------------------------------------------------------------------------------------

static void read_metadata(struct instruction *instruction, struct wire metadata)
{
  struct wire_field field;
  while (wire_next(&metadata, &field)) {
    if (wire_is(&field, METADATA_NAME, WIRE_BYTES)) { // "jit(step)/jit(relu)/max"
      struct slice name = {field.bytes, field.length};
      const char *slash = memrchr(name.data, '/', name.length);
      instruction->primitive = slash != NULL ? slice_after(name, (size_t)(slash - name.data) + 1) : name;
    } else if (wire_is(&field, METADATA_FILE, WIRE_BYTES)) {
      instruction->file = (struct slice){field.bytes, field.length};
    } else if (wire_is(&field, METADATA_LINE, WIRE_VARINT)) {
      instruction->line = field.value;
    } else if (wire_is(&field, METADATA_FRAME, WIRE_VARINT)) {
      instruction->frame = field.value;
    }
  }
}

// Newer files have a number of a frame in place of file and line.
static void find_line(const struct module *module, struct instruction *instruction)
{
  if (instruction->file.length == 0)
    xplane_frames_place(&module->frames, instruction->frame, &instruction->file, &instruction->line);
}

// ---- computations ----------------------------------------------------------------------------------------------------

static bool read_instruction(struct module *module, uint64_t computation, struct wire wire)
{
  struct instruction *instruction = vector_add(&module->instructions);
  struct wire_field field;
  instruction->computation = computation;
  instruction->all = wire;
  while (wire_next(&wire, &field)) {
    struct slice bytes = {field.bytes, field.length};
    if (wire_is(&field, INSTRUCTION_NAME, WIRE_BYTES))
      instruction->name = bytes;
    else if (wire_is(&field, INSTRUCTION_OPCODE, WIRE_BYTES))
      instruction->opcode = bytes;
    else if (wire_is(&field, INSTRUCTION_SHAPE, WIRE_BYTES))
      instruction->shape = bytes;
    else if (wire_is(&field, INSTRUCTION_METADATA, WIRE_BYTES))
      read_metadata(instruction, wire_inside(&field));
    else if (wire_is(&field, INSTRUCTION_ID, WIRE_VARINT))
      *map_at(&module->instruction_at, map_number(field.value), NULL) = module->instructions.count;
    else if (wire_is(&field, INSTRUCTION_OPERANDS, WIRE_BYTES))
      instruction->operands = bytes;
    else if (field.number == INSTRUCTION_CALLED)
      instruction->called_count = xplane_numbers(&field, instruction->called, instruction->called_count, CALLED_MOST);
    else
      xplane_collective_groups(&field, &instruction->listed_groups, &instruction->newer_groups);
  }
  return wire.problem == NULL;
}

static bool read_computation(struct module *module, struct wire computation)
{
  struct wire_field field;
  struct wire rest = computation;
  uint64_t id = 0;
  while (wire_next(&rest, &field))
    if (wire_is(&field, COMPUTATION_ID, WIRE_VARINT))
      id = field.value;
  if (rest.problem != NULL)
    return false;
  *map_at(&module->computation_at, map_number(id), NULL) = module->instructions.count + 1;
  while (wire_find(&computation, COMPUTATION_INSTRUCTIONS, WIRE_BYTES, &field))
    if (!read_instruction(module, id, wire_inside(&field)))
      return false;
  return true;
}

// ---- what is kept ----------------------------------------------------------------------------------------------------

static bool is_value(const struct instruction *instruction) // and no operation
{
  static const char *const opcodes[] = {"parameter", "constant", "tuple", "get-tuple-element"};
  for (size_t i = 0; i < sizeof opcodes / sizeof opcodes[0]; i++)
    if (slice_is(instruction->opcode, opcodes[i]))
      return true;
  return false;
}

static bool is_control(const struct instruction *instruction)
{
  return slice_is(instruction->opcode, "while") || slice_is(instruction->opcode, "conditional") ||
         slice_is(instruction->opcode, "call");
}

// JAX's primitive. XLA names a product after the transposition that it took in.
static struct slice type_of(const struct instruction *instruction, bool *ret_is_product)
{
  static const struct {
    const char *opcode, *primitive;
  } products[] = {{"dot", "dot_general"}, {"convolution", "conv_general_dilated"}};
  *ret_is_product = true;
  for (size_t i = 0; i < sizeof products / sizeof products[0]; i++)
    if (slice_is(instruction->opcode, products[i].opcode))
      return slice_of(products[i].primitive);
  *ret_is_product = false;
  return instruction->primitive.length > 0 ? instruction->primitive : instruction->opcode;
}

// Appends "dot_general train.py:8". Without a line the operator alone. At most SOURCES_MOST different ones, in
// SOURCES_BYTES_MOST.
static void put_source(struct buf *list, struct slice type, const struct instruction *instruction,
                       const struct instruction *seen[SOURCES_MOST], size_t *count)
{
  for (size_t i = 0; i < *count; i++) {
    bool is_product;
    if (seen[i]->line == instruction->line && slice_equal(seen[i]->file, instruction->file) &&
        slice_equal(type_of(seen[i], &is_product), type))
      return;
  }
  if (*count == SOURCES_MOST || list->length + type.length + instruction->file.length > SOURCES_BYTES_MOST)
    return;
  seen[(*count)++] = instruction;
  buf_format(list, "%s%.*s", list->length > 0 ? ", " : "", (int)type.length, type.data);
  if (instruction->file.length > 0 && instruction->line > 0)
    buf_format(list, " %.*s:%" PRIu64, (int)instruction->file.length, instruction->file.data, instruction->line);
}

// The operations that were fused into one, in their order, with their lines; else its own. A product among them gives its type.
static void list_sources(struct module *module, const struct instruction *outer, struct xplane_instruction *kept)
{
  struct buf source SCOPED(buf_done) = {0};
  const struct instruction *seen[SOURCES_MOST];
  size_t count = 0;
  bool is_product;
  const uint64_t *first = outer->called_count > 0 && kept->is_fused
                              ? map_find(&module->computation_at, map_number(outer->called[0]))
                              : NULL;
  size_t at = first != NULL ? *first - 1 : module->instructions.count;
  for (; at < module->instructions.count; at++) {
    struct instruction *inner = &module->instructions.items[at];
    if (inner->computation != outer->called[0])
      break;
    if (is_value(inner))
      continue;
    find_line(module, inner);
    struct slice type = type_of(inner, &is_product);
    kept->type = is_product ? keep(module, type) : kept->type;
    put_source(&source, type, inner, seen, &count);
  }
  if (count == 0 && outer->line > 0)
    put_source(&source, type_of(outer, &is_product), outer, seen, &count);
  kept->source = keep(module, buf_slice(&source));
}

// What the device gives.
static int64_t operand_bytes(const struct module *module, const struct instruction *of)
{
  struct wire operands = wire_over(of->operands.data, of->operands.length);
  uint64_t id;
  int64_t bytes = 0;
  while (operands.at < operands.end && wire_varint(&operands, &id)) {
    const uint64_t *place = map_find(&module->instruction_at, map_number(id));
    const struct slice shape = place != NULL ? module->instructions.items[*place - 1].shape : (struct slice){NULL, 0};
    bytes = saturate_add(bytes, xplane_shape_bytes(wire_over(shape.data, shape.length)));
  }
  return bytes;
}

static void keep_instruction(struct module *module, struct instruction *instruction)
{
  struct xplane *x = module->x;
  struct xplane_instruction kept = {.is_fused = slice_is(instruction->opcode, "fusion"),
                                    .is_control = is_control(instruction),
                                    .is_loop = slice_is(instruction->opcode, "while")};
  uint32_t name = keep(module, instruction->name);
  find_line(module, instruction);
  bool is_product;
  kept.type = keep(module, type_of(instruction, &is_product));
  kept.shape = shape_text(module, instruction->shape);
  list_sources(module, instruction, &kept);
  kept.path = xplane_frames_path(x, &module->frames, instruction->frame, instruction->file, instruction->line,
                                 xplane_text(x, kept.type));
  const uint64_t *caller = map_find(&module->caller_of, map_number(instruction->computation));
  if (caller != NULL)
    kept.caller = keep(module, module->instructions.items[*caller - 1].name) + 1;
  if (kept.is_control)
    *vector_add(&x->control_names) = name;
  const char *collective = xplane_collective_kind(instruction->opcode);
  if (collective != NULL) {
    kept.collective = keep(module, slice_of(collective)) + 1;
    bool has_parts = instruction->listed_groups > 1 || instruction->newer_groups > 1;
    kept.group = keep(module, slice_of(has_parts ? "parts" : "all")) + 1;
    kept.bytes = operand_bytes(module, instruction);
    module->grouping.instruction = x->instructions.count + 1;
    xplane_add_groups(x, &module->grouping, instruction->all);
  }
  *vector_add(&x->instructions) = kept;
  *map_at(&x->instruction_at, (struct map_key){module->number, name}, NULL) = x->instructions.count;
}

// Which computations loops, branches and calls run, and which are part of another operation.
static void find_callers(struct module *module, struct map *inner)
{
  for (size_t i = 0; i < module->instructions.count; i++) {
    const struct instruction *instruction = &module->instructions.items[i];
    for (size_t k = 0; k < instruction->called_count; k++)
      *map_at(is_control(instruction) ? &module->caller_of : inner, map_number(instruction->called[k]), NULL) = i + 1;
  }
}

static void keep_module(struct module *module)
{
  struct map inner SCOPED(map_done) = {0};
  find_callers(module, &inner);
  for (size_t i = 0; i < module->instructions.count; i++) {
    struct instruction *instruction = &module->instructions.items[i];
    if (!is_value(instruction) && map_find(&inner, map_number(instruction->computation)) == NULL)
      keep_instruction(module, instruction);
  }
}

// ---- a module --------------------------------------------------------------------------------------------------------

static bool read_module(struct module *module, struct wire wire)
{
  struct wire_field field;
  while (wire_next(&wire, &field)) {
    bool is_good = true;
    if (wire_is(&field, MODULE_COMPUTATIONS, WIRE_BYTES))
      is_good = read_computation(module, wire_inside(&field));
    else if (wire_is(&field, MODULE_PROGRAM_SHAPE, WIRE_BYTES))
      read_signature(module, wire_inside(&field));
    else if (wire_is(&field, MODULE_ALIASES, WIRE_BYTES) || wire_is(&field, MODULE_DONORS, WIRE_BYTES))
      count_donated(module, wire_inside(&field));
    else if (wire_is(&field, MODULE_DEVICES, WIRE_BYTES))
      xplane_read_assignment(wire_inside(&field), &module->grouping);
    else if (wire_is(&field, MODULE_FRAMES, WIRE_BYTES))
      is_good = xplane_frames_read(&module->frames, wire_inside(&field));
    if (!is_good)
      return false;
  }
  return wire.problem == NULL;
}

// "jit_step(14)": the module's name and the program's number.
static bool split_name(struct slice name, struct slice *ret_name, int64_t *ret_program)
{
  const char *open = name.length > 0 && name.data[name.length - 1] == ')' ? memrchr(name.data, '(', name.length) : NULL;
  if (open == NULL)
    return false;
  *ret_name = (struct slice){name.data, (size_t)(open - name.data)};
  struct slice number = slice_after(name, ret_name->length + 1);
  number.length--;
  return slice_int64(number, ret_program);
}

bool xplane_add_module(struct xplane *x, struct slice name, struct slice proto)
{
  struct slice module_name;
  int64_t program_id;
  struct wire_field field;
  struct wire wire = wire_over(proto.data, proto.length);
  if (!split_name(name, &module_name, &program_id))
    return true;
  uint32_t text = interner_at(&x->texts, module_name.data, module_name.length);
  struct map_key key = {(uint64_t)text + 1, (uint64_t)program_id};
  bool is_new;
  uint64_t *place = map_at(&x->module_at, key, &is_new);
  if (!is_new) // of two processes, or recorded again
    return true;
  *vector_add(&x->modules) =
      (struct xplane_module){.name = text, .program_id = program_id, .signature = interner_at(&x->texts, "", 0)};
  *place = x->modules.count;
  struct module module = {.x = x, .number = (uint32_t)x->modules.count};
  bool is_good = true;
  while (is_good && wire_find(&wire, PROTO_MODULE, WIRE_BYTES, &field))
    is_good = read_module(&module, wire_inside(&field));
  is_good = is_good && wire.problem == NULL;
  if (is_good)
    keep_module(&module);
  xplane_frames_done(&module.frames);
  vector_done(&module.instructions);
  map_done(&module.computation_at);
  map_done(&module.caller_of);
  map_done(&module.instruction_at);
  return is_good;
}
