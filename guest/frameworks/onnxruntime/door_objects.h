// SPDX-License-Identifier: Apache-2.0
// What the files about ONNX Runtime's Python module share: the module, and small steps with objects. All of it with the
// interpreter held; no error of Python's is left set.
#ifndef XSP_FRAMEWORKS_ONNXRUNTIME_DOOR_OBJECTS_H
#define XSP_FRAMEWORKS_ONNXRUNTIME_DOOR_OBJECTS_H

#include "frameworks/common/door_python.h"
#include "frameworks/common/padding.h"
#include "frameworks/onnxruntime/door_runs.h"

// One module a process: a second interpreter's is not traced. Written while the module is loaded, then only read.
struct ort_module {
  const struct python *python;
  struct ort_runtime runtime; // the module's own copy
  bool layers_usable;         // the listener is registered in it
  void *profiled_options;     // a RunOptions of the module, for programs that give none
  void *run_options_class;    // these are the module's
  void *value_class;
  void *listener_devices; // a list with ours
  void *add_provider;     // SessionOptions.add_provider_for_devices
};
extern struct ort_module ort_module;

void ort_object_release(void *object);                // may be NULL
void *ort_passed(void *arguments, python_size index); // borrowed; NULL: not given
const char *ort_text_of(void *object);                // NULL: no text
int64_t ort_first_of_sequence(void *sequence);        // -1: none
int64_t ort_batch_of(void *value);                    // first dimension of an array or a value; -1: unknown
// "input_ids=int64[1,200]", of a dictionary by names of inputs, cut at `size`. False: it has none.
bool ort_signature_of_feed(void *feed, char *text, size_t size, struct padding *ret_padding);
void *ort_object_held_by(void *object); // the address that an object of the module's classes holds
// The arguments with one replaced; NULL: there are not so many.
void *ort_arguments_with(void *arguments, python_size index, void *value);

enum known_kind { SESSIONS, BINDINGS, OPTIONS, SESSION_OPTIONS };
// What is known of `key`, as new, until `object` ends. NULL: nothing can be.
struct known *ort_object_know(enum known_kind kind, void *object, const void *key);

// ---- door_python.c
void onnxruntime_python_loaded(const struct python *python, void *module);

// ---- door_hiding.c: ours is in no list of execution providers
bool ort_is_listener(void *device); // an OrtEpDevice
void *ort_without_name(void *original, void *arguments, void *keywords);
void *ort_without_key(void *original, void *arguments, void *keywords);
void *ort_without_device(void *original, void *arguments, void *keywords);

// ---- door_python_runs.c: what methods of the module's classes are replaced by
void *ort_run_feed_in_span(void *original, void *arguments, void *keywords);
void *ort_run_values_in_span(void *original, void *arguments, void *keywords);
void *ort_run_binding_in_span(void *original, void *arguments, void *keywords);
void *ort_run_vector_in_span(void *original, void *arguments, void *keywords);
void *ort_run_async_in_span(void *original, void *arguments, void *keywords);
void *ort_make_binding(void *original, void *arguments, void *keywords);
void *ort_make_run_options(void *original, void *arguments, void *keywords);
void *ort_bind_input(void *original, void *arguments, void *keywords);

#endif
