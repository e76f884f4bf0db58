// SPDX-License-Identifier: Apache-2.0
// A program with the vendor's own static part inside, as in any program; built by long_itt_vendor.py if it could get
// the vendor's sources. Also built as a shared object (-DMODULE), so that two static parts use one collector.
#include "ittnotify.h"

#include <stdio.h>
#include <string.h>

extern void __itt_fini_ittlib(void);
extern void __itt_release_resources(void);

#ifdef MODULE
__attribute__((visibility("default"))) __itt_domain *module_run(__itt_domain *theirs, __itt_string_handle *name)
{
  __itt_domain *domain = __itt_domain_create("module");
  __itt_task_begin(domain, __itt_null, __itt_null, __itt_string_handle_create("of the module"));
  __itt_task_begin(theirs, __itt_null, __itt_null, name);
  __itt_task_end(theirs);
  __itt_task_end(domain);
  return domain;
}
#else
__itt_domain *module_run(__itt_domain *theirs, __itt_string_handle *name);

static void tasks(__itt_domain *domain)
{
  __itt_id id = __itt_id_make(domain, 1), overlapped = __itt_id_make(domain, 2), region = __itt_id_make(domain, 3);
  int numbers[3] = {1, 2, 3};
  __itt_id_create(domain, id);
  __itt_task_begin(domain, id, __itt_null, __itt_string_handle_create("task"));
  __itt_metadata_add(domain, id, __itt_string_handle_create("numbers"), __itt_metadata_s32, 3, numbers);
  __itt_metadata_str_add(domain, __itt_null, __itt_string_handle_create("text"), "value", 5);
  __itt_metadata_str_add_with_scope(domain, __itt_scope_task, __itt_string_handle_create("scoped"), "near", (size_t)-1);
  __itt_task_begin_overlapped(domain, overlapped, id, __itt_string_handle_create("overlapped"));
  __itt_task_end(domain);
  __itt_task_end_overlapped(domain, overlapped);
  __itt_id_destroy(domain, id);
  __itt_region_begin(domain, region, __itt_null, __itt_string_handle_create("region"));
  __itt_region_end(domain, region);
  __itt_task_begin_ex(domain, NULL, __itt_get_timestamp(), __itt_null, __itt_null,
                      __itt_string_handle_create("stamped"));
  __itt_task_end_ex(domain, NULL, __itt_get_timestamp());
}

static void others(__itt_domain *domain)
{
  __itt_domain *frames = __itt_domain_create("frames");
  __itt_timestamp start = __itt_get_timestamp();
  unsigned long long value = 12;
  __itt_frame_begin_v3(frames, NULL);
  __itt_frame_end_v3(frames, NULL);
  __itt_frame_submit_v3(frames, NULL, start, __itt_timestamp_none);
  __itt_counter counter = __itt_counter_create("counter", "module");
  __itt_counter_inc(counter);
  __itt_counter_set_value(counter, &value);
  __itt_marker(domain, __itt_null, __itt_string_handle_create("marker"), __itt_scope_global);
  __itt_event event = __itt_event_create("event", 5);
  __itt_event_start(event);
  __itt_event_end(event);
  __itt_thread_set_name("vendor's thread");
  __itt_sync_create(&value, "type", "name", 0);
  __itt_sync_prepare(&value);
  __itt_heap_function heap = __itt_heap_function_create("heap", "domain");
  __itt_heap_allocate_begin(heap, 1, 0);
  __itt_suppress_push(1);
  __itt_suppress_pop();
  __itt_histogram *histogram = __itt_histogram_create(domain, "histogram", __itt_metadata_u64, __itt_metadata_u64);
  __itt_histogram_submit(histogram, 0, NULL, NULL);
}

int main(void)
{
  // Before any other call these do not look for a collector: the static part makes them itself.
  __itt_domain *early = __itt_domain_create("early");
  __itt_string_handle *name = __itt_string_handle_create("early name");
  __itt_counter counter = __itt_counter_create("early counter", "early");
  __itt_task_begin(early, __itt_null, __itt_null, name);
  __itt_task_end(early);
  __itt_counter_inc(counter);
  puts(__itt_get_collection_state() == __itt_collection_init_successful ? "collector" : "no collector");
  __itt_domain *domain = __itt_domain_create("vendor");
  tasks(domain);
  others(domain);
  __itt_domain *of_the_module = module_run(domain, __itt_string_handle_create("our name"));
  __itt_task_begin(of_the_module, __itt_null, __itt_null, name);
  __itt_task_end(of_the_module);
  __itt_pause();
  __itt_task_begin(domain, __itt_null, __itt_null, __itt_string_handle_create("paused"));
  __itt_task_end(domain);
  __itt_resume();
  __itt_fini_ittlib(); // as a library does when it is unloaded
  __itt_task_begin(domain, __itt_null, __itt_null, name);
  __itt_task_end(domain);
  __itt_release_resources();
  return 0;
}
#endif
