// SPDX-License-Identifier: Apache-2.0
// Reads .eh_frame of loaded libraries: which rule holds at an instruction (DWARF 5 §6.4, LSB's .eh_frame_hdr). Called by
// unwind.c for instructions that are not cached. What compilers do not emit at calls on x86-64 gives no rule.
#include "tracers/frames/find_object.h"
#include "tracers/frames/unwind.h"

#if defined(__x86_64__)
#include <string.h>

enum { DWARF_BP = 6, DWARF_SP = 7, DWARF_RETURN = 16 };

// ---- numbers of tables
struct reader {
  const uint8_t *at, *end;
  bool is_bad;
};

static uint64_t read_fixed(struct reader *reader, size_t size)
{
  uint64_t value = 0;
  if ((size_t)(reader->end - reader->at) < size) {
    reader->is_bad = true;
    return 0;
  }
  memcpy(&value, reader->at, size);
  reader->at += size;
  return value;
}

static uint64_t read_uleb(struct reader *reader)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint64_t byte = read_fixed(reader, 1);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0)
      return value;
  }
  reader->is_bad = true;
  return 0;
}

static int64_t read_sleb(struct reader *reader)
{
  uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint64_t byte = read_fixed(reader, 1);
    value |= (byte & 0x7f) << shift;
    if ((byte & 0x80) == 0)
      return shift + 7 < 64 && (byte & 0x40) != 0 ? (int64_t)(value | UINT64_MAX << (shift + 7)) : (int64_t)value;
  }
  reader->is_bad = true;
  return 0;
}

static size_t pointer_size(uint8_t encoding) // DW_EH_PE_*; 0: not supported
{
  static const uint8_t sizes[16] = {[0] = 8, [2] = 2, [3] = 4, [4] = 8, [0xa] = 2, [0xb] = 4, [0xc] = 8};
  return sizes[encoding & 0xf];
}

// ---- the rows of a function
struct cfi_row {
  uint64_t end_register; // DWARF_SP, DWARF_BP, or another that is not followed
  int64_t end_offset;
  bool end_is_in_memory; // at *(bp + end_offset)
  enum { BP_KEPT, BP_AT_END, BP_AT_BP, BP_LOST } bp;
  int64_t bp_offset;  // from the end
  bool has_no_caller; // the return address is undefined
};

struct cfi_entry { // of one function
  struct reader common, own;
  uint64_t code_factor;
  int64_t data_factor;
  uint8_t pointer_encoding;
  bool has_augmentation;
};

static bool read_augmentation(struct reader *reader, const char *text, struct cfi_entry *entry)
{
  uint64_t length = read_uleb(reader);
  if (reader->is_bad || length > (uint64_t)(reader->end - reader->at))
    return false;
  const uint8_t *after = reader->at + length;
  for (text++; *text != '\0'; text++) {
    uint8_t encoding = 0;
    if (*text == 'R' || *text == 'L' || *text == 'P')
      encoding = (uint8_t)read_fixed(reader, 1);
    if (*text == 'R')
      entry->pointer_encoding = encoding;
    else if (*text == 'P')
      read_fixed(reader, pointer_size(encoding));
    else if (*text != 'L' && *text != 'B') // 'S': a signal's frame, whose return address is its own
      return false;
  }
  reader->at = after;
  return !reader->is_bad;
}

static bool read_common(const uint8_t *at, struct cfi_entry *entry) // CIE
{
  struct reader reader = {at, at + 4, false};
  uint64_t length = read_fixed(&reader, 4);
  if (length == 0 || length >= 0xffffff00)
    return false;
  reader.end = at + 4 + length;
  uint64_t id = read_fixed(&reader, 4), version = read_fixed(&reader, 1);
  const char *text = (const char *)reader.at;
  size_t text_length = strnlen(text, (size_t)(reader.end - reader.at));
  if (id != 0 || (version != 1 && version != 3) || text_length >= (size_t)(reader.end - reader.at))
    return false;
  reader.at += text_length + 1;
  entry->code_factor = read_uleb(&reader);
  entry->data_factor = read_sleb(&reader);
  uint64_t return_register = version == 1 ? read_fixed(&reader, 1) : read_uleb(&reader);
  entry->has_augmentation = text[0] == 'z';
  if (return_register != DWARF_RETURN || (text[0] != '\0' && !entry->has_augmentation))
    return false;
  if (entry->has_augmentation && !read_augmentation(&reader, text, entry))
    return false;
  entry->common = reader;
  return !reader.is_bad;
}

// The function's entry (FDE) at `at`, whose code begins at `begin`. False: `pc` is after its end, or it cannot be read.
static bool read_function(const uint8_t *at, uintptr_t begin, uintptr_t pc, struct cfi_entry *ret_entry)
{
  struct reader reader = {at, at + 4, false};
  uint64_t length = read_fixed(&reader, 4);
  if (length == 0 || length >= 0xffffff00)
    return false;
  reader.end = at + 4 + length;
  const uint8_t *common = reader.at;
  common -= read_fixed(&reader, 4);
  *ret_entry = (struct cfi_entry){0};
  if (reader.is_bad || !read_common(common, ret_entry))
    return false;
  size_t size = pointer_size(ret_entry->pointer_encoding);
  if (size == 0)
    return false;
  read_fixed(&reader, size);
  uint64_t range = read_fixed(&reader, size);
  if (ret_entry->has_augmentation) {
    uint64_t skipped = read_uleb(&reader);
    if (skipped > (uint64_t)(reader.end - reader.at))
      return false;
    reader.at += skipped;
  }
  ret_entry->own = reader;
  return !reader.is_bad && pc - begin < range;
}

// DW_CFA_def_cfa_expression and DW_CFA_expression, as compilers write them for frames that are aligned anew: bp + offset.
static bool read_bp_expression(struct reader *reader, bool is_followed, int64_t *ret_offset)
{
  uint64_t length = read_uleb(reader);
  if (reader->is_bad || length > (uint64_t)(reader->end - reader->at)) {
    reader->is_bad = true;
    return false;
  }
  struct reader block = {reader->at, reader->at + length, false};
  reader->at += length;
  bool is_bp = read_fixed(&block, 1) == 0x70 + DWARF_BP; // DW_OP_breg6
  *ret_offset = read_sleb(&block);
  bool ends =
      is_followed ? read_fixed(&block, 1) == 0x06 && block.at == block.end : block.at == block.end; // DW_OP_deref
  return is_bp && ends && !block.is_bad;
}

static void set_bp_at_end(struct cfi_row *row, int64_t offset)
{
  row->bp = BP_AT_END;
  row->bp_offset = offset;
}

static void set_end(struct cfi_row *row, uint64_t end_register, int64_t offset)
{
  row->end_register = end_register;
  row->end_offset = offset;
  row->end_is_in_memory = false;
}

static void lose(struct cfi_row *row, uint64_t of_register)
{
  row->bp = of_register == DWARF_BP ? BP_LOST : row->bp;
  row->has_no_caller |= of_register == DWARF_RETURN;
}

// An instruction about registers other than the frame's end.
static void run_register(struct reader *reader, uint8_t what, const struct cfi_entry *entry, struct cfi_row *row)
{
  uint64_t of_register = read_uleb(reader);
  int64_t offset = 0;
  switch (what) {
  case 0x05: // DW_CFA_offset_extended
  case 0x11: // DW_CFA_offset_extended_sf
    offset = what == 0x05 ? (int64_t)read_uleb(reader) : read_sleb(reader);
    if (of_register == DWARF_BP)
      set_bp_at_end(row, offset * entry->data_factor);
    break;
  case 0x07: // DW_CFA_undefined
    lose(row, of_register);
    break;
  case 0x06: // DW_CFA_restore_extended
  case 0x08: // DW_CFA_same_value
    row->bp = of_register == DWARF_BP ? BP_KEPT : row->bp;
    break;
  case 0x10: // DW_CFA_expression
    if (read_bp_expression(reader, false, &offset) && offset == 0 && of_register == DWARF_BP)
      row->bp = BP_AT_BP;
    else
      lose(row, of_register);
    break;
  default: // DW_CFA_register, DW_CFA_val_*
    if (what == 0x16)
      read_bp_expression(reader, false, &offset);
    else
      read_uleb(reader);
    lose(row, of_register);
  }
}

static void run_end(struct reader *reader, uint8_t what, const struct cfi_entry *entry, struct cfi_row *row)
{
  switch (what) {
  case 0x0c: // DW_CFA_def_cfa
  case 0x12: // DW_CFA_def_cfa_sf
    set_end(row, read_uleb(reader), 0);
    row->end_offset = what == 0x0c ? (int64_t)read_uleb(reader) : read_sleb(reader) * entry->data_factor;
    break;
  case 0x0d: // DW_CFA_def_cfa_register
    set_end(row, read_uleb(reader), row->end_offset);
    break;
  case 0x0e: // DW_CFA_def_cfa_offset
    row->end_offset = (int64_t)read_uleb(reader);
    break;
  case 0x13: // DW_CFA_def_cfa_offset_sf
    row->end_offset = read_sleb(reader) * entry->data_factor;
    break;
  default: // DW_CFA_def_cfa_expression
    row->end_is_in_memory = read_bp_expression(reader, true, &row->end_offset);
    row->end_register = row->end_is_in_memory ? DWARF_BP : UINT64_MAX;
  }
}

// Runs instructions as far as `distance` bytes into the function. False: they cannot be read.
static bool run(struct reader reader, const struct cfi_entry *entry, uint64_t distance, const struct cfi_row *initial,
                struct cfi_row *row)
{
  struct cfi_row kept[8];
  size_t kept_count = 0;
  uint64_t at = 0;
  while (reader.at < reader.end && !reader.is_bad && at <= distance) {
    uint8_t what = (uint8_t)read_fixed(&reader, 1), low = what & 0x3f;
    if (what >> 6 == 1) { // DW_CFA_advance_loc
      at += low * entry->code_factor;
    } else if (what >> 6 == 2) { // DW_CFA_offset
      int64_t offset = (int64_t)read_uleb(&reader) * entry->data_factor;
      if (low == DWARF_BP)
        set_bp_at_end(row, offset);
    } else if (what >> 6 == 3) { // DW_CFA_restore
      if (low == DWARF_BP) {
        row->bp = initial->bp;
        row->bp_offset = initial->bp_offset;
      }
    } else if (what >= 0x02 && what <= 0x04) { // DW_CFA_advance_loc1, 2, 4
      at += read_fixed(&reader, (size_t)1 << (what - 2)) * entry->code_factor;
    } else if (what == 0x0a && kept_count < sizeof kept / sizeof *kept) { // DW_CFA_remember_state
      kept[kept_count++] = *row;
    } else if (what == 0x0b && kept_count > 0) { // DW_CFA_restore_state
      *row = kept[--kept_count];
    } else if (what == 0x2e) { // DW_CFA_GNU_args_size
      read_uleb(&reader);
    } else if ((what >= 0x0c && what <= 0x0f) || what == 0x12 || what == 0x13) {
      run_end(&reader, what, entry, row);
    } else if ((what >= 0x05 && what <= 0x09) || (what >= 0x10 && what <= 0x16)) {
      run_register(&reader, what, entry, row);
    } else if (what != 0x00) { // DW_CFA_nop
      return false;
    }
  }
  return !reader.is_bad;
}

// ---- a library's functions
// The entry of the last function that begins at or before `pc`, by the sorted table of .eh_frame_hdr; NULL: none.
static const uint8_t *find_function(const uint8_t *header, uintptr_t pc, uintptr_t *ret_begin)
{
  enum { DATA_RELATIVE_INT32 = 0x3b, UINT32 = 0x03 };
  if (header == NULL || header[0] != 1 || header[2] != UINT32 || header[3] != DATA_RELATIVE_INT32)
    return NULL;
  uint32_t count, low = 0;
  size_t table = 4 + pointer_size(header[1]);
  memcpy(&count, header + table, sizeof count);
  table += sizeof count;
  int32_t row[2];
  for (uint32_t high = count; low < high;) {
    uint32_t middle = low + (high - low) / 2;
    memcpy(row, header + table + 8 * (size_t)middle, sizeof row);
    if ((uintptr_t)header + (uintptr_t)(intptr_t)row[0] <= pc)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0)
    return NULL;
  memcpy(row, header + table + 8 * (size_t)(low - 1), sizeof row);
  *ret_begin = (uintptr_t)header + (uintptr_t)(intptr_t)row[0];
  return header + row[1];
}

static struct unwind_rule rule_of_row(const struct cfi_row *row)
{
  struct unwind_rule rule = {UNWIND_NONE, UNWIND_BP_KEPT, (int32_t)row->end_offset};
  bool is_followed = row->end_register == DWARF_SP || row->end_register == DWARF_BP;
  if (row->has_no_caller || !is_followed || row->end_offset % 8 != 0 || row->end_offset > 1 << 21 ||
      row->end_offset < -(1 << 21))
    return rule;
  rule.kind = row->end_is_in_memory ? UNWIND_BY_MEMORY : row->end_register == DWARF_SP ? UNWIND_BY_SP : UNWIND_BY_BP;
  if (row->bp == BP_AT_BP)
    rule.bp_words = UNWIND_BP_AT_BP;
  else if (row->bp == BP_AT_END && row->bp_offset < 0 && row->bp_offset > -8 * UNWIND_BP_AT_BP)
    rule.bp_words = (uint8_t)(-row->bp_offset / 8);
  else if (row->bp != BP_KEPT)
    rule.kind = UNWIND_NONE;
  return rule;
}

struct unwind_rule unwind_rule_of(uintptr_t pc)
{
  struct dl_find_object found;
  struct cfi_entry entry;
  struct cfi_row row = {.end_register = UINT64_MAX}, initial = {0};
  uintptr_t begin = 0;
  const struct unwind_rule none = {UNWIND_NONE, UNWIND_BP_KEPT, 0};
  if (!find_object((const void *)pc, &found))
    return none;
  const uint8_t *function = find_function((const uint8_t *)found.dlfo_eh_frame, pc, &begin);
  if (function == NULL || !read_function(function, begin, pc, &entry) || !run(entry.common, &entry, 0, &initial, &row))
    return none;
  initial = row;
  return run(entry.own, &entry, pc - begin, &initial, &row) ? rule_of_row(&row) : none;
}
#endif
