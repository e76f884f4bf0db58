// SPDX-License-Identifier: Apache-2.0
// The thread that registers an agent. Called by start.c. Each change of state is reported once: registered, registry away,
// name taken.
#include "agent/registration.h"

#include "agent/etcd.h"
#include "base/clock.h"
#include "base/condition.h"
#include "base/debug.h"
#include "base/memory.h"
#include "base/scoped.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define LOOK_NS UINT64_C(2000000000) // at what may have changed
#define SECOND_NS UINT64_C(1000000000)

enum registered { NOT_YET, REGISTERED, REGISTRY_AWAY, NAME_TAKEN };

struct registration {
  struct registration_options options;
  struct etcd *etcd;
  char *key;
  // of the thread
  int64_t lease; // 0: none
  uint64_t kept_ns;
  struct buf written; // the record that the registry has
  enum registered reported;
  bool has_thread;
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  // locked
  bool is_ending, is_changed;
};

// ---- one step --------------------------------------------------------------------------------------------------------
static void report(struct registration *registration, enum registered state, const struct error *err)
{
  const struct registration_options *options = &registration->options;
  if (state == registration->reported)
    return;
  if (state == REGISTERED)
    options->message("xsp: registered %s with %s%s", options->name, options->registry,
                     registration->reported == REGISTRY_AWAY ? " again" : "");
  else if (state == NAME_TAKEN)
    options->message("xsp: %s: another agent is registered as %s; waiting until it is gone", options->registry,
                     options->name);
  else
    options->message("xsp: %s: %s; trying again", options->registry, err->why);
  registration->reported = state;
}

static enum status keep_lease(struct registration *registration, struct error *err)
{
  uint64_t now_ns = clock_now_ns(CLOCK_MONOTONIC);
  bool is_alive = true;
  bool is_due = registration->reported == REGISTRY_AWAY || // a step that asks nothing would say that it is back
                now_ns - registration->kept_ns >= registration->options.ttl_s * SECOND_NS / 3;
  if (registration->lease == 0 || !is_due)
    return STATUS_OK;
  XSP_TRY(etcd_keep_alive(registration->etcd, registration->lease, &is_alive, err));
  registration->kept_ns = now_ns;
  if (!is_alive) // and its key is gone with it
    registration->lease = 0;
  return STATUS_OK;
}

static enum status create(struct registration *registration, const struct buf *record, bool *ret_is_taken,
                          struct error *err)
{
  int64_t lease;
  XSP_TRY(etcd_grant(registration->etcd, registration->options.ttl_s, &lease, err));
  enum status status = etcd_create(registration->etcd, registration->key, record, lease, ret_is_taken, err);
  if (status != STATUS_OK || *ret_is_taken) {
    etcd_revoke(registration->etcd, lease);
    return status;
  }
  DEBUG(agent, "%s has lease %lld", registration->key, (long long)lease);
  registration->lease = lease;
  registration->kept_ns = clock_now_ns(CLOCK_MONOTONIC);
  return STATUS_OK;
}

static bool is_written(const struct registration *registration, const struct buf *record)
{
  const struct buf *written = &registration->written;
  return written->length == record->length && memcmp(written->data, record->data, record->length) == 0;
}

static void step(struct registration *registration)
{
  struct buf record SCOPED(buf_done) = {0};
  struct error err = {0};
  bool is_taken = false;
  registration->options.describe(registration->options.context, &record);
  enum status status = keep_lease(registration, &err);
  if (status == STATUS_OK && registration->lease == 0)
    status = create(registration, &record, &is_taken, &err);
  else if (status == STATUS_OK && !is_written(registration, &record))
    status = etcd_put(registration->etcd, registration->key, &record, registration->lease, &err);
  if (status == STATUS_OK && !is_taken) {
    buf_done(&registration->written);
    registration->written = record;
    record = (struct buf){0};
  }
  report(registration, is_taken ? NAME_TAKEN : status == STATUS_OK ? REGISTERED : REGISTRY_AWAY, &err);
}

// ---- the thread ------------------------------------------------------------------------------------------------------
static void *keep(void *context)
{
  struct registration *registration = context;
  uint64_t every_ns = registration->options.ttl_s * SECOND_NS / 3;
  if (every_ns > LOOK_NS)
    every_ns = LOOK_NS;
  SCOPED_LOCK(&registration->lock);
  while (!registration->is_ending) {
    registration->is_changed = false;
    uint64_t next_ns = clock_now_ns(CLOCK_MONOTONIC) + every_ns;
    pthread_mutex_unlock(&registration->lock);
    step(registration);
    pthread_mutex_lock(&registration->lock);
    while (!registration->is_ending && !registration->is_changed &&
           condition_wait(&registration->changed, &registration->lock, next_ns))
      continue;
  }
  return NULL;
}

enum status registration_start(const struct registration_options *options, struct registration **ret_registration,
                               struct error *err)
{
  struct registration *registration = *ret_registration = memory_new(1, sizeof *registration);
  struct buf key = {0};
  registration->options = *options;
  buf_format(&key, REGISTRY_PREFIX "%s", options->name);
  registration->key = key.data;
  pthread_mutex_init(&registration->lock, NULL);
  condition_init(&registration->changed);
  XSP_TRY(etcd_open(options->registry, &registration->etcd, err));
  registration->has_thread = pthread_create(&registration->thread, NULL, keep, registration) == 0;
  return registration->has_thread
             ? STATUS_OK
             : error_set(err, STATUS_SYSTEM, "cannot register", options->name, NULL, "no thread can be started");
}

static void wake(struct registration *registration, bool *reason)
{
  SCOPED_LOCK(&registration->lock);
  *reason = true;
  pthread_cond_signal(&registration->changed);
}

void registration_changed(struct registration *registration)
{
  if (registration != NULL)
    wake(registration, &registration->is_changed);
}

void registration_end(struct registration *registration)
{
  if (registration == NULL || !registration->has_thread)
    return;
  wake(registration, &registration->is_ending);
  pthread_join(registration->thread, NULL);
  registration->has_thread = false;
  if (registration->lease != 0)
    etcd_revoke(registration->etcd, registration->lease);
}

void registration_free(struct registration *registration)
{
  if (registration == NULL)
    return;
  etcd_close(registration->etcd);
  pthread_cond_destroy(&registration->changed);
  pthread_mutex_destroy(&registration->lock);
  buf_done(&registration->written);
  free(registration->key);
  free(registration);
}
