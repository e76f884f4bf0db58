// SPDX-License-Identifier: Apache-2.0
// Native functions of the calling thread, joined with Python's frames and the operators around them. Called by tracers at
// operators, where callers are recorded in full.
#include "tracers/frames/find_object.h"
#include "tracers/frames/frames.h"
#include "tracers/frames/hash_cache.h"
#include "tracers/frames/unwind.h"

#include <limits.h>
#include <unistd.h>
#include <xsp/call_path.h>
#include <xsp/tracer.h>

static struct hash_cache paths;
static char program[PATH_MAX];                                         // of the main program
static struct dl_find_object interpreter = {.dlfo_map_start = program, // empty: there is none
                                            .dlfo_map_end = program};
static struct dl_find_object own; // this library
static bool is_on;

bool frames_native_setup(const void *in_interpreter)
{
  ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
  program[length > 0 ? length : 0] = '\0';
  if (in_interpreter != NULL && !find_object(in_interpreter, &interpreter))
    return false;
  if (!find_object((const void *)(uintptr_t)frames_native_setup, &own))
    return false;
  is_on = (paths.sets != NULL || hash_cache_map(&paths)) && unwind_setup();
  return is_on;
}

static bool is_in(const struct dl_find_object *object, uintptr_t pc)
{
  return pc - (uintptr_t)object->dlfo_map_start < (uintptr_t)object->dlfo_map_end - (uintptr_t)object->dlfo_map_start;
}

// ---- a walk
enum stop { STOP_INTERPRETER, STOP_AROUND, STOP_END, STOP_MOST };
struct native_stack {
  struct hash128 hash; // of all frames, from the innermost
  uint32_t count;
  enum stop stop;
  uintptr_t pc[NATIVE_FRAMES_MOST];
};

// Which functions of this library are left out: all, those before its caller, or none.
enum own { OWN_LEFT_OUT, OWN_BEFORE_CALLER, OWN_KEPT };

// From the function at `place`, or the one whose frame holds `inner` (0: any), outwards to, exclusively, the one whose frame holds
// `outer` (0: none).
static void walk(struct unwind_place place, enum own left_out, uintptr_t inner, uintptr_t outer,
                 struct native_stack *ret_stack)
{
  uintptr_t end = 0;
  struct hash128 hash = {0, 0};
  uint32_t count = 0;
  enum stop stop = STOP_MOST;
  bool is_ours = left_out != OWN_KEPT;
  while (count < NATIVE_FRAMES_MOST) {
    uintptr_t pc = place.pc;
    bool is_outermost = !unwind_step(&place, &end);
    is_ours = left_out == OWN_LEFT_OUT ? is_in(&own, pc) : is_ours && is_in(&own, pc);
    if (is_in(&interpreter, pc) && python_frames_are_read()) {
      stop = STOP_INTERPRETER;
      break;
    }
    if (!is_outermost && outer != 0 && end > outer) {
      stop = STOP_AROUND;
      break;
    }
    if (!is_ours && (is_outermost ? place.sp : end) > inner) {
      ret_stack->pc[count++] = pc;
      hash128_add(&hash, pc, 0);
    }
    if (is_outermost) {
      stop = STOP_END;
      break;
    }
  }
  ret_stack->hash = hash;
  ret_stack->count = count;
  ret_stack->stop = stop;
}

// ---- its path
static uint32_t append(uint32_t caller, uintptr_t pc)
{
  struct hash128 hash = hash128_of(caller, 1);
  hash128_add(&hash, pc, 1);
  uint32_t path = hash_cache_find(&paths, &hash);
  if (path != 0)
    return path;
  struct dl_find_object found;
  struct xsp_frame frame = {.size = sizeof frame, .kind = XSP_FRAME_NATIVE, .address = pc};
  if (find_object((const void *)pc, &found)) {
    frame.module = found.dlfo_link_map->l_name[0] != '\0' ? found.dlfo_link_map->l_name : program;
    frame.address = pc - found.dlfo_link_map->l_addr;
  }
  path = xsp_call_path(caller, &frame);
  if (path != 0)
    hash_cache_put(&paths, &hash, path);
  return path;
}

#define JOINED 2 // marks hashes of joined paths, with STOP_MOST as the lowest bit

static uint32_t path_of_stack(uint32_t caller, const struct native_stack *stack)
{
  uint32_t path = caller;
  if (stack->stop == STOP_MOST) {
    struct xsp_frame more = {.size = sizeof more, .kind = XSP_FRAME_NATIVE, .name = "(more frames)"};
    if ((path = xsp_call_path(caller, &more)) == 0)
      return 0;
  }
  for (uint32_t i = stack->count; i-- > 0;)
    if ((path = append(path, stack->pc[i])) == 0)
      return 0;
  return path;
}

// The native frames after the path `caller`.
static uint32_t join_paths(uint32_t caller, struct native_stack *stack)
{
  if (stack->count == 0)
    return caller;
  hash128_add(&stack->hash, caller, stack->stop == STOP_MOST);
  uint32_t path = hash_cache_find(&paths, &stack->hash);
  if (path == 0 && (path = path_of_stack(caller, stack)) != 0)
    hash_cache_put(&paths, &stack->hash, path);
  return path;
}

static uint32_t full_path(const struct frames_place *around, const void *inner)
{
  struct native_stack stack;
  const struct frames_place none = {0};
  const struct frames_place *since = around != NULL ? around : &none;
  struct unwind_place here;
  UNWIND_HERE(&here);
  walk(here, inner == NULL ? OWN_BEFORE_CALLER : OWN_KEPT, (uintptr_t)inner, (uintptr_t)since->stack, &stack);
  return join_paths(stack.stop == STOP_AROUND ? since->path : python_frames_path_since(since->python, since->path),
                    &stack);
}

// The same for a sample: native functions are a path of their own, so a new line of Python above known ones is one entry.
static uint32_t sample_path(uint32_t caller, struct native_stack *stack)
{
  if (caller == 0 || stack->count == 0)
    return join_paths(caller, stack);
  struct hash128 joined = stack->hash;
  hash128_add(&joined, caller, JOINED | (stack->stop == STOP_MOST));
  uint32_t path = hash_cache_find(&paths, &joined);
  if (path == 0 && (path = join_paths(0, stack)) != 0 && (path = xsp_sample_path(caller, path)) != 0)
    hash_cache_put(&paths, &joined, path);
  return path;
}

uint32_t frames_path_at(const struct unwind_place *place)
{
  struct native_stack stack;
  if (!is_on)
    return python_frames_path_checked(place->sp, false);
  unwind_begin(place->sp);
  walk(*place, OWN_LEFT_OUT, 0, 0, &stack);
  return sample_path(python_frames_path_checked(place->sp, stack.stop == STOP_INTERPRETER), &stack);
}

uint32_t frames_path(enum call_paths_mode mode, const struct frames_place *around, const void *inner)
{
  if (mode == CALL_PATHS_NONE)
    return 0;
  if (mode == CALL_PATHS_FULL && is_on)
    return full_path(around, inner);
  return around != NULL ? python_frames_path_since(around->python, around->path) : python_frames_path();
}
