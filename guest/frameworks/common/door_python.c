// SPDX-License-Identifier: Apache-2.0
// Modules of Python as they are loaded: the interpreter looks up PyInit_NAME in the extension's file and calls it; we
// call the real one and then have the module, complete, with the interpreter held. Modules that are made in two steps
// (a definition first, executed later) get a last step of ours.
#include "frameworks/common/door_python.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#define ENTRANCES 8
#define EXECUTE_SLOT 2 // Py_mod_exec
#define SLOTS_MAXIMUM 14

struct slot { // PyModuleDef_Slot
  int number;
  void *value;
};

// One framework's module. Made at its first look-up; a process has one interpreter library, so one set of functions.
struct entrance {
  const struct framework *framework; // atomic; NULL: free
  void *(*real)(void);               // atomic: PyInit_NAME as it was found last
  struct slot slots[SLOTS_MAXIMUM + 2];
};
static struct entrance entrances[ENTRANCES];

static struct python the_python;
static void *the_interpreter; // its library; NULL: the program itself
static uint32_t python_state; // atomic: 0 not looked for, 1 being looked for, 2 found, 3 cannot be used

// ---- the interpreter -------------------------------------------------------------------------------------------------

static void *look_up(void *interpreter, const char *name)
{
  void *found = frameworks_lookup(RTLD_DEFAULT, name);
  return found != NULL || interpreter == NULL ? found : frameworks_lookup(interpreter, name);
}

static void *look_up_more(const char *name)
{
  return look_up(the_interpreter, name);
}

static bool find_functions(void *interpreter, struct python *python)
{
  void *symbol;
  the_interpreter = interpreter;
  python->symbol = look_up_more;
#define X(member, name, result, parameters)                                                                            \
  symbol = look_up(interpreter, #name);                                                                                \
  memcpy(&python->member, &symbol, sizeof symbol);                                                                     \
  if (symbol == NULL)                                                                                                  \
    return false;
  PYTHON_LIST(X)
#undef X
  python->none = look_up(interpreter, "_Py_NoneStruct");
  void **type_error = look_up(interpreter, "PyExc_TypeError");
  void *base_type = look_up(interpreter, "PyBaseObject_Type"); // object's own size is what every object begins with
  if (python->none == NULL || type_error == NULL || base_type == NULL)
    return false;
  python->type_error = *type_error;
  void *size = python->get_attribute(base_type, "__basicsize__");
  python->object_size = size == NULL ? 0 : (size_t)python->int_value(size);
  if (size != NULL)
    python->decref(size);
  python->error_clear();
  return python->object_size >= 16 && python->object_size <= 64;
}

// With the interpreter held. `caller` lies in it: a library of its own, opened out of sight, where it is embedded.
static const struct python *python_get(const void *caller)
{
  uint32_t state = 0;
  if (__atomic_compare_exchange_n(&python_state, &state, 1, false, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE)) {
    state = find_functions(framework_library_of(caller), &the_python) ? 2 : 3;
    __atomic_store_n(&python_state, state, __ATOMIC_RELEASE);
  }
  return state == 2 ? &the_python : NULL;
}

// ---- entrances -------------------------------------------------------------------------------------------------------

static void loaded(struct entrance *entrance, void *module)
{
  void *type, *value, *traceback;
  the_python.error_fetch(&type, &value, &traceback);
  entrance->framework->python_loaded(&the_python, module);
  the_python.error_clear();
  the_python.error_restore(type, value, traceback);
}

// PyModuleDef: the object's head, then m_init, m_index, m_copy; m_name, m_doc, m_size, m_methods, m_slots, m_traverse,
// m_clear, m_free. Its type's basic size shows whether this layout is the interpreter's.
static struct slot **slots_of(void *definition)
{
  const size_t pointer = sizeof(void *);
  void *type = the_python.get_attribute(definition, "__class__");
  void *name = type == NULL ? NULL : the_python.get_attribute(type, "__name__");
  void *size = type == NULL ? NULL : the_python.get_attribute(type, "__basicsize__");
  const char *text = name == NULL ? NULL : the_python.text(name);
  bool is_definition = text != NULL && strcmp(text, "moduledef") == 0 && size != NULL &&
                       (size_t)the_python.int_value(size) == the_python.object_size + 11 * pointer;
  void *objects[] = {type, name, size};
  for (size_t i = 0; i < 3; i++)
    if (objects[i] != NULL)
      the_python.decref(objects[i]);
  the_python.error_clear();
  return is_definition ? (struct slot **)((char *)definition + the_python.object_size + 7 * pointer) : NULL;
}

static int execute(struct entrance *entrance, void *module)
{
  loaded(entrance, module);
  return 0;
}

static void *enter(struct entrance *entrance, int (*step)(void *module))
{
  void *made = __atomic_load_n(&entrance->real, __ATOMIC_ACQUIRE)();
  if (made == NULL)
    return NULL;
  void *dictionary = the_python.get_attribute(made, "__dict__"); // a module has one, a definition has not
  if (dictionary != NULL) {
    the_python.decref(dictionary);
    loaded(entrance, made);
    return made;
  }
  the_python.error_clear();
  struct slot **slots = slots_of(made);
  if (slots == NULL || *slots == entrance->slots)
    return made;
  size_t count = 0;
  while (*slots != NULL && (*slots)[count].number != 0)
    if (++count > SLOTS_MAXIMUM)
      return made;
  if (count > 0)
    memcpy(entrance->slots, *slots, count * sizeof entrance->slots[0]);
  entrance->slots[count].number = EXECUTE_SLOT;
  memcpy(&entrance->slots[count].value, &step, sizeof step);
  entrance->slots[count + 1] = (struct slot){0, NULL};
  *slots = entrance->slots;
  return made;
}

// These functions have no argument that identifies the module: one function per entrance.
#define EACH_ENTRANCE(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#define X(number)                                                                                                      \
  static int step_##number(void *module)                                                                               \
  {                                                                                                                    \
    return execute(&entrances[number], module);                                                                        \
  }                                                                                                                    \
  static void *enter_##number(void)                                                                                    \
  {                                                                                                                    \
    return enter(&entrances[number], step_##number);                                                                   \
  }
EACH_ENTRANCE(X)
#undef X

void *framework_python_entrance(const struct framework *framework, void *found, const void *caller)
{
#define X(number) enter_##number,
  static void *(*const enters[ENTRANCES])(void) = {EACH_ENTRANCE(X)};
#undef X
  if (python_get(caller) == NULL)
    return found;
  for (size_t i = 0; i < ENTRANCES; i++) {
    const struct framework *owner = NULL;
    if (!__atomic_compare_exchange_n(&entrances[i].framework, &owner, framework, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE) &&
        owner != framework)
      continue;
    void *(*real)(void);
    memcpy(&real, &found, sizeof real);
    __atomic_store_n(&entrances[i].real, real, __ATOMIC_RELEASE);
    void *entrance;
    memcpy(&entrance, &enters[i], sizeof entrance);
    return entrance;
  }
  return found;
}

// ---- wrapping --------------------------------------------------------------------------------------------------------

#define TAKES_ALL 3 // METH_VARARGS | METH_KEYWORDS

void *framework_python_function(const struct python *python, struct python_definition *definition, const char *name,
                                python_wrapper wrapper, void *original)
{
  definition->name = name;
  memcpy(&definition->function, &wrapper, sizeof wrapper);
  definition->flags = TAKES_ALL;
  return python->new_function(definition, original, NULL);
}

static void *make_wrapper(const struct python *python, void *original, const char *name, bool is_method,
                          python_wrapper wrapper)
{
  struct python_definition *definition = calloc(1, sizeof *definition); // never freed: a class lives on somewhere
  if (definition == NULL)
    return NULL;
  void *documentation = python->get_attribute(original, "__doc__");
  if (documentation != NULL && documentation != python->none) // its text lives as long as it: it is never given back
    definition->documentation = python->text(documentation);
  python->error_clear();
  void *function = framework_python_function(python, definition, name, wrapper, original);
  if (function == NULL || !is_method)
    return function;
  void *method = python->new_method(function);
  python->decref(function);
  return method;
}

bool framework_python_wrap(const struct python *python, void *object, const char *name, bool is_method,
                           python_wrapper wrapper)
{
  void *original = python->get_attribute(object, name);
  void *replacement = original == NULL ? NULL : make_wrapper(python, original, name, is_method, wrapper);
  bool done = replacement != NULL && python->set_attribute(object, name, replacement) == 0;
  if (replacement != NULL)
    python->decref(replacement);
  if (original != NULL)
    python->decref(original); // the replacement has it
  python->error_clear();
  return done;
}
