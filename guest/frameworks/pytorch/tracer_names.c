// SPDX-License-Identifier: Apache-2.0
// Names of modules: the path by which a module is reached from the outermost one, "layer4.0.conv1". Found by walking `_modules`
// through the interpreter's C functions, so that no code of the program runs. Called by tracer_modules.c, with the interpreter
// held.
#include "base/hash.h"
#include "frameworks/common/pool.h"
#include "frameworks/pytorch/tracer.h"

#include <stdio.h>
#include <string.h>

#define TEXT_SIZE 512u
#define TABLE 32768u // modules alive at a time: half of it
#define NAMES 32768u
#define NAMES_KEPT 8192u // other texts are kept while there are fewer, so that modules have room
#define NESTED 64u       // of modules in modules

static const struct python *py;
static int (*weak_reference_get)(void *reference, void **ret_object); // PyWeakref_GetRef, from 3.13 on
static void *(*weak_reference_object)(void *reference);               // PyWeakref_GetObject, before; borrowed
static void *dict_type;                                               // borrowed

static struct known_module {
  const void *object; // NULL: free
  void *reference;    // weak: an address is used again
  struct module module;
  bool is_named_alone; // after its class, as it was called before anything that contains it
  bool is_walked;
} table[TABLE];
static uint32_t table_used;
static const struct module_name *names[NAMES];
static uint32_t name_count;
static struct pool pool = {.maximum_bytes = (size_t)16 << 20};

// NULL: not known, and there are `most` already.
static const struct module_name *name_within(const char *text, uint32_t most)
{
  uint64_t hash = hash_text(text, strlen(text), UINT64_C(0x5851f42d4c957f2d)) | 1;
  for (uint32_t i = 0; i < NAMES / 2; i++) {
    const struct module_name **place = &names[(hash / 2 + i) % NAMES];
    if (*place != NULL && (*place)->hash == hash)
      return *place;
    if (*place != NULL)
      continue;
    struct module_name *name = name_count < most ? framework_pool_alloc(&pool, 1, sizeof *name) : NULL;
    const char *copy = name != NULL ? framework_pool_text(&pool, text, strlen(text)) : NULL;
    if (copy == NULL)
      return NULL;
    *name = (struct module_name){hash, copy};
    name_count++;
    return *place = name;
  }
  return NULL;
}

static const struct module_name *name_of(const char *text)
{
  return name_within(text, NAMES);
}

const char *pytorch_names_keep(const char *text)
{
  const struct module_name *name = name_within(text, NAMES_KEPT);
  return name != NULL ? name->text : NULL;
}

static bool is_alive(const struct known_module *module)
{
  if (module->reference == NULL)
    return false;
  if (weak_reference_get == NULL)
    return weak_reference_object(module->reference) == module->object;
  void *object = NULL;
  if (weak_reference_get(module->reference, &object) != 1)
    return false;
  py->decref(object);
  return object == module->object;
}

// The entry of `object`, or the free one that it would get.
static struct known_module *place_of(const void *object)
{
  uint64_t hash = hash_number((uintptr_t)object, UINT64_C(0x9e6c63d0876a9a4b));
  uint32_t i = (uint32_t)hash % TABLE;
  while (table[i].object != NULL && table[i].object != object)
    i = (i + 1) % TABLE;
  return &table[i];
}

static struct known_module *known(const void *object)
{
  struct known_module *module = place_of(object);
  return module->object != NULL && is_alive(module) ? module : NULL;
}

static void forget_all(void)
{
  for (uint32_t i = 0; i < TABLE; i++)
    if (table[i].reference != NULL)
      py->decref(table[i].reference);
  memset(table, 0, sizeof table);
  table_used = 0;
}

static const char *class_name(void *object)
{
  char text[TEXT_SIZE] = "Module";
  void *class = py->type_of(object);
  void *name = class != NULL ? py->get_attribute(class, "__name__") : NULL;
  const char *found = name != NULL ? py->text(name) : NULL;
  if (found != NULL)
    snprintf(text, sizeof text, "%s", found);
  if (name != NULL)
    py->decref(name);
  if (class != NULL)
    py->decref(class);
  py->error_clear();
  const struct module_name *kept = name_of(text);
  return kept != NULL ? kept->text : "Module";
}

static struct known_module *note(void *object, const char *path)
{
  struct known_module *module = place_of(object);
  if (module->object != NULL && is_alive(module)) {
    if (path != NULL && module->is_named_alone) {
      module->module.name = name_of(path);
      module->is_named_alone = false;
    }
    return module;
  }
  if (module->reference != NULL)
    py->decref(module->reference);
  table_used += module->object == NULL;
  *module = (struct known_module){.object = object, .reference = py->new_weak_reference(object, NULL)};
  py->error_clear();
  module->module.class_name = class_name(object);
  module->module.name = name_of(path != NULL ? path : module->module.class_name);
  module->is_named_alone = path == NULL;
  return module;
}

// A dictionary of the object, a new reference; NULL: it is none. No code of the program runs for plain modules.
static void *dictionary_of(void *object, const char *name)
{
  void *found = py->get_attribute(object, name);
  if (found != NULL && py->is_instance(found, dict_type) != 1) {
    py->decref(found);
    found = NULL;
  }
  py->error_clear();
  return found;
}

static bool holds(void *object, const char *name)
{
  void *dictionary = dictionary_of(object, name);
  bool is_filled = dictionary == NULL || py->dict_size(dictionary) > 0; // of its own kind (TorchScript): assume so
  if (dictionary != NULL)
    py->decref(dictionary);
  return is_filled;
}

// The modules in `object`, whose path is `path`, are named. `is_repeated`: also those in modules that were walked before.
static void walk(void *object, const char *path, unsigned depth, bool is_repeated)
{
  void *parts = depth < NESTED ? dictionary_of(object, "_modules") : NULL, *key, *part;
  python_size at = 0;
  while (parts != NULL && table_used < TABLE / 2 && py->dict_next(parts, &at, &key, &part)) {
    const char *name = py->text(key);
    char text[TEXT_SIZE];
    if (name == NULL || part == py->none)
      continue;
    snprintf(text, sizeof text, "%s%s%s", path, *path != 0 ? "." : "", name);
    const struct known_module *before = known(part);
    bool was_walked = before != NULL && before->is_walked && !before->is_named_alone;
    note(part, text)->is_walked = true;
    if (!was_walked || is_repeated)
      walk(part, text, depth + 1, is_repeated);
  }
  if (parts != NULL)
    py->decref(parts);
  py->error_clear();
}

static void walk_outermost(struct known_module *module, void *object, bool is_repeated)
{
  module->is_walked = true;
  module->module.is_model = holds(object, "_parameters") || holds(object, "_modules");
  walk(object, module->is_named_alone || module->module.name == NULL ? "" : module->module.name->text, 0, is_repeated);
}

const struct module *pytorch_names_enter(void *self, void *outermost, bool *was_repeated)
{
  struct known_module *module = known(self);
  if (module != NULL && (module->is_walked || self != outermost))
    return &module->module;
  if (table_used >= TABLE / 2)
    forget_all();
  if (self == outermost) {
    module = note(self, NULL);
    walk_outermost(module, self, false);
  } else if (!*was_repeated) { // added since, or not a part of it
    *was_repeated = true;
    walk_outermost(note(outermost, NULL), outermost, true);
  }
  return &note(self, NULL)->module;
}

bool pytorch_names_start(const struct python *python)
{
  py = python;
  void *get = py->symbol("PyWeakref_GetRef"), *object = py->symbol("PyWeakref_GetObject");
  memcpy(&weak_reference_get, &get, sizeof get);
  memcpy(&weak_reference_object, &object, sizeof object);
  dict_type = py->symbol("PyDict_Type");
  return dict_type != NULL && (get != NULL || object != NULL);
}
