// SPDX-License-Identifier: Apache-2.0
// What would show a Python program that our listener is among ONNX Runtime's execution providers: lists are left without it.
#include "frameworks/onnxruntime/door_objects.h"

#include <string.h>

// `list`, which may be NULL, without the items that are ours.
static void *without(void *list, bool (*is_ours)(void *item))
{
  for (python_size i = list == NULL ? 0 : ort_module.python->sequence_size(list); i-- > 0;) {
    void *item = ort_module.python->sequence_item(list, i);
    if (is_ours(item))
      ort_module.python->delete_item(list, i);
    ort_object_release(item);
  }
  if (list != NULL)
    ort_module.python->error_clear();
  return list;
}

static bool is_our_name(void *text)
{
  const char *name = ort_text_of(text);
  return name != NULL && strcmp(name, ORT_LISTENER_NAME) == 0;
}

void *ort_without_name(void *original, void *arguments, void *keywords) // a list of names
{
  return without(ort_module.python->call(original, arguments, keywords), is_our_name);
}

void *ort_without_key(void *original, void *arguments, void *keywords) // names and their options
{
  void *options = ort_module.python->call(original, arguments, keywords);
  if (options != NULL) {
    ort_module.python->delete_dict_item(options, ORT_LISTENER_NAME);
    ort_module.python->error_clear();
  }
  return options;
}

bool ort_is_listener(void *device)
{
  void *name = device == NULL ? NULL : ort_module.python->get_attribute(device, "ep_name");
  bool ours = is_our_name(name);
  ort_object_release(name);
  ort_module.python->error_clear();
  return ours;
}

void *ort_without_device(void *original, void *arguments, void *keywords) // a list of devices
{
  return without(ort_module.python->call(original, arguments, keywords), ort_is_listener);
}
