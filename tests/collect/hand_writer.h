// SPDX-License-Identifier: Apache-2.0
// A traced process by hand, for tests: writes the bytes of trace/format/session.h where capture would.
#ifndef XSP_TESTS_COLLECT_HAND_WRITER_H
#define XSP_TESTS_COLLECT_HAND_WRITER_H

#include "format/session.h"

#include <xsp/span.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#define HAND_RING_RECORDS 256u
#define HAND_RING_BYTES (RING_HEAD_SIZE + HAND_RING_RECORDS * sizeof(struct record))

struct hand {
  const char *directory;
  struct session_head *session;
  char *catalog;
  struct process_head *process;
  struct ring_head *ring;
};

static inline void *hand_map(const char *directory, const char *name, size_t create_bytes, size_t map_bytes)
{
  char path[4096];
  snprintf(path, sizeof path, "%s/%s", directory, name);
  int file = open(path, O_RDWR | (create_bytes ? O_CREAT | O_EXCL : 0), 0600);
  assert_true(file >= 0);
  if (create_bytes)
    assert_int_equal(posix_fallocate(file, 0, (off_t)create_bytes), 0);
  void *bytes = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  assert_true(bytes != MAP_FAILED);
  close(file);
  return bytes;
}

// Joins the session as process 1 with pid 1000 and, as its thread 1001, ring 1.
static inline void hand_join(struct hand *hand, const char *directory)
{
  hand->directory = directory;
  hand->session = hand_map(directory, "session", 0, SESSION_FILE_SIZE);
  hand->catalog = hand_map(directory, "catalog", 0, 256 << 10);
  hand->process = hand_map(directory, "process-1", sizeof *hand->process, sizeof *hand->process);
  *hand->process = (struct process_head){.magic = PROCESS_MAGIC,
                                         .version = SESSION_VERSION,
                                         .head_size = sizeof *hand->process,
                                         .number = 1,
                                         .pid = 1000,
                                         .command = "/usr/bin/program --option"};
  hand->session->next_process = 2;
  hand->ring = hand_map(directory, "ring-1", HAND_RING_BYTES, HAND_RING_BYTES);
  hand->ring->version = SESSION_VERSION;
  hand->ring->head_size = sizeof *hand->ring;
  hand->ring->number = 1;
  hand->ring->backed = hand->ring->most_records = HAND_RING_RECORDS;
  ring_set_size(hand->ring, 0, 0, HAND_RING_RECORDS);
  hand->ring->process = 1;
  hand->ring->owner_tid = 1001;
  hand->ring->magic = RING_MAGIC;
  hand->session->next_ring = 2;
}

static inline void hand_leave(struct hand *hand)
{
  munmap(hand->session, SESSION_FILE_SIZE);
  munmap(hand->catalog, 256 << 10);
  munmap(hand->process, sizeof *hand->process);
  munmap(hand->ring, HAND_RING_BYTES);
}

static inline uint32_t hand_entry(struct hand *hand, const void *entry, size_t size, const char *text)
{
  struct catalog_head *head = (void *)hand->catalog;
  uint64_t place = head->used;
  size_t length = text ? strlen(text) + 1 : 0;
  head->used += (size + length + 7) & ~(size_t)7;
  memcpy(hand->catalog + place, entry, size);
  if (length)
    memcpy(hand->catalog + place + size, text, length);
  ((struct catalog_entry *)(void *)(hand->catalog + place))->size = (uint32_t)(head->used - place);
  return (uint32_t)(place / 8);
}

static inline uint32_t hand_string(struct hand *hand, const char *text)
{
  struct catalog_string string = {{0, CATALOG_STRING}, (uint32_t)strlen(text), 0};
  return hand_entry(hand, &string, offsetof(struct catalog_string, text), text);
}

static inline uint32_t hand_site(struct hand *hand, unsigned level, const char *name, const char *category)
{
  struct catalog_site site = {.entry = {0, CATALOG_SITE}, .level = level};
  site.name = hand_string(hand, name);
  site.category = category ? hand_string(hand, category) : 0;
  return hand_entry(hand, &site, sizeof site, NULL);
}

// A path of a Python frame; 0: no caller.
static inline uint32_t hand_path(struct hand *hand, uint32_t caller, const char *name, uint32_t line)
{
  struct catalog_frame frame = {.entry = {0, CATALOG_FRAME}, .name = hand_string(hand, name), .line = line};
  struct catalog_path path = {.entry = {0, CATALOG_PATH}, .caller = caller};
  path.frame = hand_entry(hand, &frame, sizeof frame, NULL);
  return hand_entry(hand, &path, sizeof path, NULL);
}

static inline void hand_site_tag(struct hand *hand, uint32_t site, const char *key, int64_t value)
{
  struct catalog_site *place = (void *)(hand->catalog + (size_t)site * 8);
  struct catalog_site_tag tag = {.entry = {0, CATALOG_SITE_TAG}, .next = place->first_tag, .value_type = VALUE_INT};
  tag.key = hand_string(hand, key);
  tag.value = (uint64_t)value;
  place->first_tag = hand_entry(hand, &tag, sizeof tag, NULL);
}

// False: the ring is full, counted as dropped.
static inline bool hand_put(struct hand *hand, struct record record)
{
  struct ring_producer *producer = &hand->ring->producer;
  bool overwrites = hand->session->flags & SESSION_FLIGHT_RECORDER;
  if (!overwrites && producer->head >= hand->ring->tail + HAND_RING_RECORDS - RING_MARGIN) {
    producer->dropped++;
    return false;
  }
  uint64_t position = producer->head++;
  struct record *records = (void *)((char *)hand->ring + RING_HEAD_SIZE);
  record.commit = (uint32_t)(position + 1);
  records[position % HAND_RING_RECORDS] = record;
  return true;
}

static inline bool hand_span(struct hand *hand, uint32_t site, uint32_t id, uint64_t start, uint64_t duration)
{
  return hand_put(hand,
                  (struct record){.type = RECORD_SPAN, .site = site, .id = id, .start = start, .duration = duration});
}

static inline bool hand_fact(struct hand *hand, uint8_t type, uint32_t id, uint32_t key, uint64_t value)
{
  return hand_put(hand, (struct record){.type = type, .site = key, .id = id, .start = value});
}

#endif
