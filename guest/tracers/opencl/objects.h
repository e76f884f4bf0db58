// SPDX-License-Identifier: Apache-2.0
// Queues and devices: what the program asked for, what was added to it, and the tracks of a queue's executions.
#ifndef XSP_TRACERS_OPENCL_OBJECTS_H
#define XSP_TRACERS_OPENCL_OBJECTS_H

#include "tracers/device/device_clock.h"
#include "tracers/device/lanes.h"
#include "tracers/opencl/opencl.h"

#include <time.h>

#define DEVICES_MOST 64u
#define QUEUES_MOST 1024u // with numbers and tracks of their own; later ones take over those of released ones

struct opencl_device {
  cl_device_id handle; // atomic; set once
  int64_t number;      // from 0, in the order in which programs make queues on them
  char name[128];
  struct device_clock clock;
  uint32_t is_ready;   // atomic: name and clock are set
  bool has_timer;      // clGetDeviceAndHostTimer works
  bool has_host_clock; // its clock is one of the host's
  clockid_t host_clock;
  uint64_t asked_ticks; // atomic: when either was last read
  uint64_t error_ns;    // atomic: how wrong the times of its executions may be, at most
};

struct opencl_queue {
  cl_command_queue handle; // atomic; NULL: released
  struct opencl_device *device;
  int64_t number;                    // from 1, on its device
  cl_command_queue_properties added; // what the program did not ask for
  cl_command_queue_properties removed;
  bool has_times;      // its events have profiling information
  uint32_t references; // atomic: the program's
  uint32_t property_count;
  cl_queue_properties *properties; // the program's, with the 0 at the end; NULL: none
  struct device_lanes lanes;
};

// NULL only where there is no memory. Takes no lock. A queue that was not seen made is asked about once.
struct opencl_queue *opencl_queue_of(cl_command_queue handle);
// The track of the execution [start, end] on this queue, in ticks.
uint16_t opencl_queue_track(struct opencl_queue *queue, uint64_t start, uint64_t end);
// Calls `with` for each queue that the program has not released.
void opencl_queues_each(void (*with)(struct opencl_queue *queue));
// Calls `with` for each device on which there was a queue.
void opencl_devices_each(void (*with)(struct opencl_device *device));

#endif
