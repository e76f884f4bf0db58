// SPDX-License-Identifier: Apache-2.0
// Numbers of calls differ between versions and grow with them, so calls are chosen by name (cuptiGetCallbackName).
#include "tracers/cuda/calls.h"

#include "tracers/cuda/subscriber.h"

#include <stdio.h>
#include <string.h>

static struct cuda_call calls[CUPTI_DOMAINS][CALLS_MOST];

// Beginnings of names after "cu", "cuda" or "__cuda".
static const char *const launches[] = {"Launch", "GraphLaunch", "Memcpy", "Memset", "MemPrefetch", NULL};
static const char *const others[] = {
    "Malloc",           "MemAlloc",           "MemHost",          "HostAlloc", "HostRegister", "Free",
    "MemFree",          "MemCreate",          "MemMap",           "MemPool",   "ModuleLoad",   "LibraryLoad",
    "GraphInstantiate", "StreamBeginCapture", "StreamEndCapture", NULL};

static bool begins_with_one(const char *name, const char *const *beginnings)
{
  while (*beginnings != NULL && strncmp(name, *beginnings, strlen(*beginnings)) != 0)
    beginnings++;
  return *beginnings != NULL;
}

static const char *bare_name(const char *name)
{
  name += strncmp(name, "__", 2) == 0 ? 2 : 0;
  if (strncmp(name, "cuda", 4) == 0)
    return name + 4;
  return strncmp(name, "cu", 2) == 0 ? name + 2 : name;
}

static bool is_wait(const char *bare)
{
  return strstr(bare, "Synchronize") != NULL || strncmp(bare, "StreamWait", 10) == 0;
}

const char *cuda_call_name(const struct cupti *cupti, uint32_t domain, uint32_t cbid)
{
  const char *name = NULL;
  return cupti->get_callback_name(domain, cbid, &name) == CUPTI_OK ? name : NULL;
}

bool cuda_call_is_chosen(const struct cupti *cupti, uint32_t domain, uint32_t cbid)
{
  const char *name = cuda_call_name(cupti, domain, cbid), *bare = name == NULL ? "" : bare_name(name);
  return begins_with_one(bare, launches) || begins_with_one(bare, others) || is_wait(bare);
}

void cuda_calls_enable(const struct cupti *cupti, enum cuda_calls choice)
{
  if (choice == CUDA_CALLS_NONE)
    return;
  if (choice == CUDA_CALLS_ALL || cupti->enable_runtime == NULL || cupti->enable_driver == NULL) {
    subscriber_enable(cupti, CUPTI_RUNTIME);
    subscriber_enable(cupti, CUPTI_DRIVER);
    return;
  }
  for (uint32_t domain = CUPTI_DOMAIN_DRIVER; domain < CUPTI_DOMAINS; domain++)
    for (uint32_t cbid = 1; cbid < CALLS_MOST; cbid++)
      if (cuda_call_is_chosen(cupti, domain, cbid))
        subscriber_enable_call(cupti, domain, cbid);
}

// Without what tells versions of one call apart: "cudaLaunchKernel_ptsz_v7000" and "cudaLaunchKernel_v7000" are one to users.
static void plain_name(const char *name, char text[128])
{
  snprintf(text, 128, "%s", name);
  for (;;) {
    char *last = strrchr(text, '_');
    if (last == NULL || last == text)
      return;
    bool is_version = last[1] == 'v' && last[2] != '\0' && strspn(last + 2, "0123456789") == strlen(last + 2);
    if (!is_version && strcmp(last, "_ptsz") != 0 && strcmp(last, "_ptds") != 0)
      return;
    *last = '\0';
  }
}

const struct cuda_call *cuda_call_of(const struct cupti *cupti, uint32_t domain, uint32_t cbid)
{
  if (domain >= CUPTI_DOMAINS || cbid >= CALLS_MOST)
    return NULL;
  struct cuda_call *call = &calls[domain][cbid];
  if (call->site != NULL)
    return call;
  char text[128];
  const char *name = cuda_call_name(cupti, domain, cbid);
  if (name == NULL)
    return NULL;
  plain_name(name, text);
  const char *bare = bare_name(text);
  call->kind = begins_with_one(bare, launches) || is_wait(bare) ? XSP_KIND_LAUNCH : XSP_KIND_SYNC;
  call->site = xsp_site_create(CUDA_TRACER, XSP_LEVEL_KERNEL, text, "api");
  return call->site != NULL ? call : NULL;
}
