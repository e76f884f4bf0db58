// SPDX-License-Identifier: Apache-2.0
// functions_audit.so, given to the loader by LD_AUDIT. It sees every library after it was mapped and before anything is
// bound to it, and redirects the wanted functions' symbols to stubs: every lookup of such a name (calls, pointers in
// data, dlsym) then finds the stub. The loader calls it with its lock held. It has no libc, prints nothing, never fails the
// program: failures are noted in the table, and the tracer reports them.
#include "tracers/functions/keep.h"
#include "tracers/functions/symbols.h"
#include "tracers/functions/system.h"
#include "tracers/functions/table.h"

#include <xsp/tracer.h>

#define EXPORT __attribute__((visibility("default")))
#define RETIRED_MOST 64
#define TEXTS_BYTES (UINT32_C(64) << 10)

// stubs_*.S
extern char functions_stubs[], functions_resolve[] __attribute__((visibility("hidden")));
struct functions_entry functions_entries[FUNCTIONS_MOST] __attribute__((visibility("hidden"), aligned(64)));
static struct function_rule rules[FUNCTIONS_RULES_MOST];
static struct functions_note notes[FUNCTIONS_NOTES_MOST];
static struct functions_table table = {
    .magic = FUNCTIONS_MAGIC, .size = sizeof table, .entries = functions_entries, .rules = rules, .notes = notes};
static const char *program_path; // as started

// ---- memory, all of it the process's for its life
static char *texts, *texts_end;

static const char *copy_text(const char *text)
{
  size_t length = functions_system_length(text) + 1;
  if (length > TEXTS_BYTES)
    return "";
  if (texts == NULL || (size_t)(texts_end - texts) < length) {
    texts = functions_system_map(TEXTS_BYTES);
    if (texts == NULL)
      return "";
    texts_end = texts + TEXTS_BYTES;
  }
  char *copy = texts;
  functions_system_copy(copy, text, length);
  texts += length;
  return copy;
}

// Copies of symbol tables. Other threads may look symbols up in a library while it is being closed, so its copy is kept
// and given to the next one that fits; the oldest goes when there are many.
static struct copy {
  const void *owner; // NULL: of a closed library
  void *memory;
  size_t bytes;
} copies[FUNCTIONS_MOST];
static uint32_t copy_count;

static void *take_copy(const void *owner, size_t bytes)
{
  bytes = (bytes + 4095) & ~(size_t)4095;
  struct copy *free_place = NULL;
  for (uint32_t i = 0; i < copy_count; i++) {
    struct copy *copy = &copies[i];
    if (copy->owner == NULL && copy->memory != NULL && copy->bytes >= bytes && copy->bytes / 2 <= bytes) {
      copy->owner = owner;
      return copy->memory;
    }
    if (copy->memory == NULL && free_place == NULL)
      free_place = copy;
  }
  if (free_place == NULL && copy_count == sizeof copies / sizeof copies[0])
    return NULL;
  void *memory = functions_system_map(bytes);
  if (memory == NULL)
    return NULL;
  *(free_place != NULL ? free_place : &copies[copy_count++]) = (struct copy){owner, memory, bytes};
  return memory;
}

static void retire_copies(const void *owner)
{
  uint32_t retired = 0;
  for (uint32_t i = 0; i < copy_count; i++)
    retired += copies[i].owner == NULL && copies[i].memory != NULL;
  for (uint32_t i = 0; i < copy_count; i++) {
    if (copies[i].owner == NULL && copies[i].memory != NULL && retired > RETIRED_MOST) {
      functions_system_unmap(copies[i].memory, copies[i].bytes);
      copies[i].memory = NULL;
      retired--;
    }
    if (copies[i].owner == owner)
      copies[i].owner = NULL;
  }
}

// ---- the list
static void read_list(const char *path)
{
  static char text[FUNCTIONS_LIST_BYTES_MOST + 1];
  table.list_path = path;
  long length = functions_system_read_file(path, text, sizeof text);
  if (length < 0)
    table.problem = "the list cannot be read";
  else if ((size_t)length == sizeof text)
    table.problem = "the list is longer than 256 KiB";
  else if (!functions_list_parse(text, (size_t)length, rules, &table.rule_count, &table.fault))
    table.problem = "the list has an error";
}

// ---- one library
static const char *file_name(const char *path)
{
  const char *name = path;
  for (; *path != '\0'; path++)
    if (*path == '/')
      name = path + 1;
  return name;
}

static bool library_matches(const char *pattern, const char *path, const char *soname)
{
  for (const char *at = pattern; *at != '\0'; at++)
    if (*at == '/')
      return functions_glob(pattern, path);
  return functions_glob(pattern, file_name(path)) || (soname != NULL && functions_glob(pattern, soname));
}

struct library { // being opened
  const struct link_map *map;
  const char *path;
  struct symbols symbols;
  uint32_t symbol_count;
  ElfW(Sym) * copy;      // NULL until the first function is found
  const char *name_copy; // its file name, where kept already
  bool is_fixed;         // its dynamic section cannot be written
};

static void note(struct library *library, uint16_t rule, const char *symbol, const char *why)
{
  uint32_t at = table.note_count;
  if (at == FUNCTIONS_NOTES_MOST)
    return;
  notes[at] = (struct functions_note){rule, copy_text(symbol), copy_text(file_name(library->path)), why};
  __atomic_store_n(&table.note_count, at + 1, __ATOMIC_RELEASE); // partner: the tracer's report
}

// Gives the library a table of symbols that may be changed.
static bool own_table(struct library *library)
{
  if (library->copy != NULL)
    return true;
  if (library->is_fixed)
    return false;
  library->symbol_count = functions_symbols_count(&library->symbols);
  size_t bytes = library->symbol_count * sizeof(ElfW(Sym));
  ElfW(Dyn) *dyn = library->symbols.table_entry;
  ElfW(Addr) before = dyn->d_un.d_ptr;
  if (before != (ElfW(Addr))library->symbols.table || !functions_system_is_writable(&dyn->d_un.d_ptr)) {
    library->is_fixed = true;
    return false;
  }
  dyn->d_un.d_ptr = before; // the question wrote into it
  ElfW(Sym) *copy = take_copy(library->map, bytes);
  if (copy == NULL) {
    library->is_fixed = true;
    return false;
  }
  functions_system_copy(copy, library->symbols.table, bytes);
  library->copy = copy;
  dyn->d_un.d_ptr = (ElfW(Addr))copy;
  return true;
}

// A place of a closed library that had the same function, or a new one.
static struct functions_entry *take_entry(struct library *library, uint16_t rule, const char *symbol)
{
  const char *name = file_name(library->path);
  for (uint32_t i = 0; i < table.entry_count; i++) {
    struct functions_entry *entry = &functions_entries[i];
    if (entry->state == FUNCTIONS_CLOSED && entry->rule == rule && functions_same(entry->symbol, symbol) &&
        functions_same(entry->library, name))
      return entry;
  }
  if (table.entry_count == FUNCTIONS_MOST) {
    __atomic_add_fetch(&table.beyond, 1, __ATOMIC_RELAXED);
    return NULL;
  }
  if (library->name_copy == NULL)
    library->name_copy = copy_text(name);
  struct functions_entry *entry = &functions_entries[table.entry_count];
  entry->rule = rule;
  entry->symbol = copy_text(symbol);
  entry->library = library->name_copy;
  entry->stack_bytes = rules[rule].stack_bytes;
  entry->has_signature = rules[rule].parameter_count > 0 || rules[rule].result != FUNCTIONS_NO_TYPE;
  return entry;
}

// The stub's way: to the function itself, or through the trampoline where the tracer is ready.
static void send(struct functions_entry *entry, void *real)
{
  __atomic_store_n(&entry->real, real, __ATOMIC_SEQ_CST);
  // Partner: the tracer's start, which sets the trampoline before it reads count and functions. One sees the other.
  void *trampoline = __atomic_load_n(&table.trampoline, __ATOMIC_SEQ_CST);
  __atomic_store_n(&entry->go, trampoline != NULL ? trampoline : real, __ATOMIC_SEQ_CST);
}

// An ifunc has a resolver that chooses its code at run time. The loader calls it while it binds; here it is called at the
// first call of the function, when its library is sure to be ready.
static void *ask(void *(*resolver)(void))
{
#if defined(__aarch64__) // a resolver gets the processor's features as arguments
  const struct {
    unsigned long size, hwcap, hwcap2;
  } has = {sizeof has, functions_system_auxiliary(AT_HWCAP), functions_system_auxiliary(AT_HWCAP2)};
  void *(*resolver_with_features)(uint64_t, const void *);
  functions_system_copy(&resolver_with_features, &resolver, sizeof resolver);
  return resolver_with_features(has.hwcap | UINT64_C(1) << 62, &has);
#else
  return resolver();
#endif
}

static struct xsp_span resolve(const void *which, uint64_t unused)
{
  struct functions_entry *entry = &functions_entries[(const struct functions_entry *)which - functions_entries];
  send(entry, ask(entry->resolver));
  return (struct xsp_span){0, 0, 0};
}

__attribute__((visibility("hidden"))) void functions_resolve_entry(const struct functions_entry *entry)
{
  functions_keep(entry, 0, resolve);
}

static void redirect(struct library *library, uint16_t rule, uint32_t index)
{
  const ElfW(Sym) *symbol = &library->symbols.table[index];
  const char *name = library->symbols.strings + symbol->st_name;
  if (rules[rule].is_pattern && functions_refusal(name) != NULL)
    return;
  if (!functions_symbols_is_function(symbol)) {
    if (!rules[rule].is_pattern)
      note(library, rule, name, "it is no function");
    return;
  }
  if (library->copy != NULL && library->copy[index].st_value != symbol->st_value)
    return; // an earlier line of the list has it
  if (!own_table(library)) {
    note(library, rule, name, "the library's table of symbols cannot be exchanged");
    return;
  }
  struct functions_entry *entry = take_entry(library, rule, name);
  if (entry == NULL)
    return;
  char *address = (char *)library->map->l_addr + symbol->st_value;
  bool is_chosen_later = ELF64_ST_TYPE(symbol->st_info) == STT_GNU_IFUNC;
  entry->resolver = NULL;
  if (is_chosen_later)
    functions_system_copy(&entry->resolver, &address, sizeof address);
  entry->owner = library->map;
  entry->state = FUNCTIONS_OPEN;
  entry->go = functions_resolve;
  entry->real = NULL;
  uint32_t place = (uint32_t)(entry - functions_entries);
  if (place == table.entry_count)
    __atomic_store_n(&table.entry_count, place + 1, __ATOMIC_SEQ_CST);
  if (!is_chosen_later)
    send(entry, address);
  ElfW(Sym) *changed = &library->copy[index];
  ElfW(Addr) stub = (ElfW(Addr))(functions_stubs + (size_t)place * FUNCTIONS_STUB_BYTES);
  changed->st_value = stub - library->map->l_addr; // the sum is the stub, modulo 2^64
  changed->st_info = (unsigned char)ELF64_ST_INFO(ELF64_ST_BIND(symbol->st_info), STT_FUNC);
  rules[rule].found++;
}

static void look_for_name(struct library *library, uint16_t rule)
{
  for (uint32_t i = 0; (i = functions_symbols_next(&library->symbols, rules[rule].name, i)) != 0;)
    redirect(library, rule, i);
}

static void look_for_patterns(struct library *library, const bool wanted[FUNCTIONS_RULES_MOST])
{
  uint32_t count = functions_symbols_count(&library->symbols);
  for (uint32_t i = 1; i < count; i++) {
    const ElfW(Sym) *symbol = &library->symbols.table[i];
    if (!functions_symbols_is_function(symbol))
      continue;
    for (uint16_t rule = 0; rule < table.rule_count; rule++)
      if (wanted[rule] && functions_glob(rules[rule].name, library->symbols.strings + symbol->st_name)) {
        redirect(library, rule, i);
        break;
      }
  }
}

// The loader itself, the kernel's library, and xsp's own: spans of what makes spans would never end.
static bool is_left_alone(const struct library *library)
{
  const char *name = file_name(library->path);
  return functions_glob("ld-linux*", name) || functions_glob("ld.so*", name) || functions_glob("linux-vdso*", name) ||
         functions_symbols_next(&library->symbols, "xsp_span_start_slow_v1", 0) != 0 ||
         functions_symbols_next(&library->symbols, XSP_TRACER_ENTRY, 0) != 0;
}

// Puts the table's address where the tracer looks for it.
static void open_door(const struct library *library)
{
  uint32_t i = functions_symbols_next(&library->symbols, FUNCTIONS_DOOR, 0);
  if (i == 0 || library->symbols.table[i].st_size != sizeof(void *))
    return;
  const struct functions_table **door =
      (const struct functions_table **)(library->map->l_addr + library->symbols.table[i].st_value);
  if (functions_system_is_writable(door))
    *door = &table;
}

// ---- what the loader calls
EXPORT unsigned int la_version(unsigned int version)
{
#ifndef FUNCTIONS_HAVE_STUBS
  return 0;
#endif
  const char *list = functions_system_environment("XSP_FUNCTIONS"),
             *session = functions_system_environment("XSP_SESSION");
  if (list == NULL || *list == '\0' || session == NULL || *session == '\0')
    return 0; // the loader puts the module away again
  functions_keep_prepare();
  program_path = functions_system_program_path();
  read_list(list);
  return version < LAV_CURRENT ? version : LAV_CURRENT;
}

EXPORT unsigned int la_objopen(struct link_map *map, Lmid_t space, uintptr_t *cookie)
{
  struct library library = {.map = map, .path = map->l_name};
  if (library.path == NULL || *library.path == '\0')
    library.path = program_path;
  *cookie = (uintptr_t)map;
  if (!functions_symbols_open(map, &library.symbols))
    return 0;
  open_door(&library);
  if (table.rule_count == 0 || table.problem != NULL || is_left_alone(&library))
    return 0;
  static bool wanted[FUNCTIONS_RULES_MOST]; // the loader's lock is held
  bool has_patterns = false;
  for (uint16_t rule = 0; rule < table.rule_count; rule++) {
    wanted[rule] =
        rules[rule].library == NULL || library_matches(rules[rule].library, library.path, library.symbols.soname);
    if (wanted[rule] && !rules[rule].is_pattern)
      look_for_name(&library, rule);
    wanted[rule] = wanted[rule] && rules[rule].is_pattern;
    has_patterns = has_patterns || wanted[rule];
  }
  if (has_patterns)
    look_for_patterns(&library, wanted);
  return 0; // nothing more is asked for: binding goes on at its own speed
}

EXPORT unsigned int la_objclose(uintptr_t *cookie)
{
  const void *owner = (const void *)*cookie;
  for (uint32_t i = 0; i < table.entry_count; i++)
    if (functions_entries[i].owner == owner && functions_entries[i].state == FUNCTIONS_OPEN) {
      functions_entries[i].state = FUNCTIONS_CLOSED;
      functions_entries[i].owner = NULL;
    }
  retire_copies(owner);
  return 0;
}
