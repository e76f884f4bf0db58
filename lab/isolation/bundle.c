// SPDX-License-Identifier: Apache-2.0
// Writes config.json; see bundle.h. Called by the keeper (keeper.c).
#include "isolation/bundle.h"

#include "base/json_write.h"
#include "base/memory.h"
#include "base/slice.h"
#include "base/sorted.h"

#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define CPU_PERIOD_US 100000
#define CLONE_FLAGS_ARGUMENT 0                                        // the second of s390 alone
#define SOCKET_TYPES 0xf                                              // of a socket's type, the rest are flags
#define SWAP_FILE "/sys/fs/cgroup/memory/memory.memsw.limit_in_bytes" // of cgroup version 1
#define VERSION_2_FILE "/sys/fs/cgroup/cgroup.controllers"

extern char **environ;

static void put_texts(struct json_writer *json, const char *key, const char *const *texts)
{
  json_member_array(json, key);
  for (; *texts != NULL; texts++)
    json_string(json, *texts);
  json_array_end(json);
}

static void put_environment(struct json_writer *json)
{
  json_member_array(json, "env");
  for (char **variable = environ; *variable != NULL; variable++)
    if (!text_begins_with(*variable, "TMPDIR="))
      json_string(json, *variable);
  json_string(json, "TMPDIR=" BUNDLE_SCRATCH);
  json_array_end(json);
}

// Root without rights, except to read the files of all users, as the xsp that started it can.
static void put_capabilities(struct json_writer *json)
{
  static const char *const sets[] = {"bounding", "effective", "permitted"};
  json_member_object(json, "capabilities");
  for (size_t i = 0; i < sizeof sets / sizeof sets[0]; i++)
    put_texts(json, sets[i], (const char *const[]){"CAP_DAC_READ_SEARCH", NULL});
  json_object_end(json);
  json_member_bool(json, "noNewPrivileges", true);
}

static void put_process(struct json_writer *json, const struct isolation_process *process)
{
  char folder[PATH_MAX];
  json_member_object(json, "process");
  json_member_bool(json, "terminal", false);
  json_member_object(json, "user");
  json_member_int(json, "uid", 0);
  json_member_int(json, "gid", 0);
  json_object_end(json);
  put_texts(json, "args", (const char *const *)process->arguments);
  put_environment(json);
  json_member_string(json, "cwd", getcwd(folder, sizeof folder) != NULL ? folder : "/");
  put_capabilities(json);
  json_object_end(json);
}

static void put_mount(struct json_writer *json, const char *type, const char *source, const char *place,
                      const char *const *options)
{
  json_object(json);
  json_member_string(json, "destination", place);
  json_member_string(json, "type", type);
  json_member_string(json, "source", source);
  put_texts(json, "options", options);
  json_object_end(json);
}

struct place {
  const char *path;
  bool is_hidden;
};

SORTED_BY(compare_places, struct place, strcmp(a->path, b->path) ?: FALLING(is_hidden))

static size_t count_texts(const char *const *texts)
{
  size_t count = 0;
  while (texts != NULL && texts[count] != NULL)
    count++;
  return count;
}

// Folders that are hidden and paths that are shown may be in each other: what is around comes first.
static void put_places(struct json_writer *json, const struct isolation *isolation, const char *const *scratch)
{
  static const char *const shown[] = {"rbind", "rro", "nosuid", "nodev", NULL};
  size_t hidden = count_texts(isolation->hidden), count = hidden + count_texts(isolation->paths);
  struct place *places SCOPED(scoped_free) = memory_new(count + 1, sizeof *places);
  for (size_t i = 0; i < count; i++)
    places[i] = (struct place){i < hidden ? isolation->hidden[i] : isolation->paths[i - hidden], i < hidden};
  qsort(places, count, sizeof *places, compare_places);
  for (size_t i = 0; i < count; i++)
    if (places[i].is_hidden)
      put_mount(json, "tmpfs", "tmpfs", places[i].path, scratch);
    else
      put_mount(json, "bind", places[i].path, places[i].path, shown);
}

static void put_mounts(struct json_writer *json, const struct isolation *isolation,
                       const struct isolation_process *process)
{
  static const char *const system[] = {"nosuid", "noexec", "nodev", "ro", NULL};
  static const char *const devices[] = {"nosuid", "mode=755", "size=64k", NULL};
  static const char *const writable[] = {"bind", "rw", "nosuid", "nodev", NULL};
  static const char *const scratch[] = {"nosuid", "nodev", "mode=1777", NULL};
  json_member_array(json, "mounts");
  put_mount(json, "proc", "proc", "/proc", (const char *const[]){"nosuid", "noexec", "nodev", NULL});
  put_mount(json, "sysfs", "sysfs", "/sys", system);
  put_mount(json, "tmpfs", "tmpfs", "/dev", devices);
  if (isolation->root != NULL) { // else they are hidden ones
    put_mount(json, "tmpfs", "tmpfs", "/dev/shm", scratch);
    put_mount(json, "tmpfs", "tmpfs", BUNDLE_SCRATCH, scratch);
  }
  put_places(json, isolation, scratch);
  put_mount(json, "tmpfs", "tmpfs", process->work_folder, scratch); // nothing of it is needed afterwards
  if (process->session_folder != NULL)
    put_mount(json, "bind", process->session_folder, process->session_folder, writable);
  json_array_end(json);
}

static void put_limits(struct json_writer *json, const struct isolation *isolation)
{
  json_member_object(json, "resources");
  if (isolation->memory_bytes > 0) {
    json_member_object(json, "memory");
    json_member_int(json, "limit", isolation->memory_bytes);
    if (access(SWAP_FILE, F_OK) == 0 || access(VERSION_2_FILE, F_OK) == 0)
      json_member_int(json, "swap", isolation->memory_bytes); // with memory: no swap
    json_object_end(json);
  }
  if (isolation->cpus > 0) {
    json_member_object(json, "cpu");
    json_member_int(json, "quota", (int64_t)(isolation->cpus * CPU_PERIOD_US));
    json_member_int(json, "period", CPU_PERIOD_US);
    json_object_end(json);
  }
  json_object_end(json);
}

// ---- system calls ------------------------------------------------------------------------------------------------------

struct refused {
  const char *name;
  int error;
  const char *comparison; // of an argument; NULL: whatever the arguments are
  unsigned argument;
  uint64_t value, masked; // the latter of SCMP_CMP_MASKED_EQ: argument & value == masked
};

// A new user namespace would have all capabilities. Of sockets those of IP and netlink are left, which are the namespace's own: a path
// of the host's can be connected to on a read-only mount, too. Those of socketpair have their peer for good, unless they are for
// datagrams. CAP_DAC_READ_SEARCH opens hidden files by handles; keys and BPF have no namespace. clone3 and io_uring have their
// arguments in memory, where no filter sees them; the C library does without.
static const struct refused refused_calls[] = {
    {"clone", EPERM, "SCMP_CMP_MASKED_EQ", CLONE_FLAGS_ARGUMENT, CLONE_NEWUSER, CLONE_NEWUSER},
    {"unshare", EPERM, "SCMP_CMP_MASKED_EQ", 0, CLONE_NEWUSER, CLONE_NEWUSER},
    {"setns", EPERM, NULL, 0, 0, 0},
    {"clone3", ENOSYS, NULL, 0, 0, 0},
    {"io_uring_setup", ENOSYS, NULL, 0, 0, 0},
    {"open_by_handle_at", EPERM, NULL, 0, 0, 0},
    {"socket", EAFNOSUPPORT, "SCMP_CMP_LT", 0, AF_INET, 0},
    {"socket", EAFNOSUPPORT, "SCMP_CMP_GT", 0, AF_NETLINK, 0},
    {"socketpair", EAFNOSUPPORT, "SCMP_CMP_MASKED_EQ", 1, SOCKET_TYPES, SOCK_DGRAM},
    {"socketpair", EAFNOSUPPORT, "SCMP_CMP_MASKED_EQ", 1, SOCKET_TYPES, SOCK_RAW}, // the same for Unix sockets
    {"add_key", ENOSYS, NULL, 0, 0, 0},
    {"keyctl", ENOSYS, NULL, 0, 0, 0},
    {"request_key", ENOSYS, NULL, 0, 0, 0},
    {"bpf", EPERM, NULL, 0, 0, 0},
};

static void put_refused(struct json_writer *json, const struct refused *refused)
{
  json_object(json);
  put_texts(json, "names", (const char *const[]){refused->name, NULL});
  json_member_string(json, "action", "SCMP_ACT_ERRNO");
  json_member_int(json, "errnoRet", refused->error);
  if (refused->comparison != NULL) {
    json_member_array(json, "args");
    json_object(json);
    json_member_int(json, "index", refused->argument);
    json_member_int(json, "value", (int64_t)refused->value);
    json_member_int(json, "valueTwo", (int64_t)refused->masked);
    json_member_string(json, "op", refused->comparison);
    json_object_end(json);
    json_array_end(json);
  }
  json_object_end(json);
}

// Calls of other architectures, such as 32-bit ones, end their thread, as libseccomp does by default.
static void put_seccomp(struct json_writer *json)
{
  json_member_object(json, "seccomp");
  json_member_string(json, "defaultAction", "SCMP_ACT_ALLOW");
  json_member_array(json, "syscalls");
  for (size_t i = 0; i < sizeof refused_calls / sizeof refused_calls[0]; i++)
    put_refused(json, &refused_calls[i]);
  json_array_end(json);
  json_object_end(json);
}

// ---- all ---------------------------------------------------------------------------------------------------------------

static void put_linux(struct json_writer *json, const struct isolation *isolation, const char *cgroup)
{
  static const char *const namespaces[] = {"pid", "network", "ipc", "uts", "mount"};
  static const char *const masked[] = {"/proc/kcore",         "/proc/keys",    "/proc/timer_list",
                                       "/proc/sysrq-trigger", "/sys/firmware", NULL};
  static const char *const read_only[] = {"/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", NULL};
  json_member_object(json, "linux");
  json_member_string(json, "cgroupsPath", cgroup);
  put_limits(json, isolation);
  json_member_array(json, "namespaces");
  for (size_t i = 0; i < sizeof namespaces / sizeof namespaces[0]; i++) {
    json_object(json);
    json_member_string(json, "type", namespaces[i]);
    json_object_end(json);
  }
  json_array_end(json);
  put_seccomp(json);
  put_texts(json, "maskedPaths", masked);
  put_texts(json, "readonlyPaths", read_only);
  json_object_end(json);
}

void bundle_describe(const struct isolation *isolation, const struct isolation_process *process, const char *cgroup,
                     struct buf *out)
{
  struct json_writer json;
  json_start(&json, out);
  json_object(&json);
  json_member_string(&json, "ociVersion", "1.0.2");
  put_process(&json, process);
  json_member_object(&json, "root");
  json_member_string(&json, "path", "rootfs");
  json_member_bool(&json, "readonly", true);
  json_object_end(&json);
  json_member_string(&json, "hostname", "xsp");
  put_mounts(&json, isolation, process);
  put_linux(&json, isolation, cgroup);
  json_object_end(&json);
}
