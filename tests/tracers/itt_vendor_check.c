// SPDX-License-Identifier: Apache-2.0
// The compiler compares the layouts and numbers of guest/tracers/itt/abi.h with the vendor's headers, if long_itt_vendor.py
// could get them. Never part of a build.
#include "ittnotify_config.h"
#undef ITT_MAGIC // the vendor's static part is run as well: that compares it
#include "tracers/itt/abi.h"

#define SAME(ours, field, theirs, other)                                                                               \
  _Static_assert(offsetof(struct ours, field) == offsetof(theirs, other) &&                                            \
                     sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->other),                                \
                 #ours "." #field)
#define SAME_SIZE(ours, theirs) _Static_assert(sizeof(struct ours) == sizeof(theirs), #ours)
#define SAME_NUMBER(ours, theirs) _Static_assert((unsigned long long)(ours) == (unsigned long long)(theirs), #ours)

SAME_SIZE(itt_id, __itt_id);
SAME_SIZE(itt_domain, __itt_domain);
SAME(itt_domain, flags, __itt_domain, flags);
SAME(itt_domain, name, __itt_domain, nameA);
SAME(itt_domain, extra2, __itt_domain, extra2);
SAME(itt_domain, next, __itt_domain, next);
SAME_SIZE(itt_string, __itt_string_handle);
SAME(itt_string, text, __itt_string_handle, strA);
SAME(itt_string, extra2, __itt_string_handle, extra2);
SAME_SIZE(itt_counter, __itt_counter_info_t);
SAME(itt_counter, name, __itt_counter_info_t, nameA);
SAME(itt_counter, domain, __itt_counter_info_t, domainA);
SAME(itt_counter, type, __itt_counter_info_t, type);
SAME(itt_counter, extra2, __itt_counter_info_t, extra2);
SAME_SIZE(itt_clock_info, __itt_clock_info);
SAME(itt_clock_info, frequency, __itt_clock_info, clock_freq);
SAME(itt_clock_info, base, __itt_clock_info, clock_base);
SAME_SIZE(itt_clock_domain, __itt_clock_domain);
SAME(itt_clock_domain, extra2, __itt_clock_domain, extra2);
SAME_SIZE(itt_slot, __itt_api_info);
SAME(itt_slot, name, __itt_api_info, name);
SAME(itt_slot, function, __itt_api_info, func_ptr);
SAME(itt_slot, absent, __itt_api_info, null_func);
SAME(itt_slot, group, __itt_api_info, group);
SAME(itt_global, magic, __itt_global, magic);
SAME(itt_global, major, __itt_global, version_major);
SAME(itt_global, build, __itt_global, version_build);
SAME(itt_global, is_initialized, __itt_global, api_initialized);
SAME(itt_global, mutex, __itt_global, mutex);
SAME(itt_global, library, __itt_global, lib);
SAME(itt_global, slots, __itt_global, api_list_ptr);
SAME_NUMBER(ITT_TYPE_U64, __itt_metadata_u64);
SAME_NUMBER(ITT_TYPE_S64, __itt_metadata_s64);
SAME_NUMBER(ITT_TYPE_U32, __itt_metadata_u32);
SAME_NUMBER(ITT_TYPE_S32, __itt_metadata_s32);
SAME_NUMBER(ITT_TYPE_U16, __itt_metadata_u16);
SAME_NUMBER(ITT_TYPE_S16, __itt_metadata_s16);
SAME_NUMBER(ITT_TYPE_FLOAT, __itt_metadata_float);
SAME_NUMBER(ITT_TYPE_DOUBLE, __itt_metadata_double);
SAME_NUMBER(ITT_SCOPE_GLOBAL, __itt_scope_global);
SAME_NUMBER(ITT_SCOPE_TRACK_GROUP, __itt_scope_track_group);
SAME_NUMBER(ITT_SCOPE_TRACK, __itt_scope_track);
SAME_NUMBER(ITT_SCOPE_TASK, __itt_scope_task);
SAME_NUMBER(ITT_SCOPE_MARKER, __itt_scope_marker);
SAME_NUMBER(ITT_RELATION_PARENT_OF, __itt_relation_is_parent_of);
SAME_NUMBER(ITT_RELATION_CHILD_OF, __itt_relation_is_child_of);
SAME_NUMBER(ITT_STAMP_NOW, __itt_timestamp_none);
