// SPDX-License-Identifier: Apache-2.0
// Checks of the headers that say who asks. Called by request.c for each request, before anything else of it is looked at.
#include "http/guard.h"

#include "base/base64.h"
#include "base/slice.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>
#include <strings.h>

// No early end: how long it takes must not depend on what is equal.
static bool is_secret(struct slice given, const char *secret)
{
  size_t length = strlen(secret);
  volatile unsigned difference = length != given.length;
  for (size_t i = 0; i < length; i++)
    difference |= (unsigned char)secret[i] ^ (unsigned char)(given.length > 0 ? given.data[i % given.length] : 0);
  return difference == 0;
}

bool guard_is_token(const char *authorization, const char *token)
{
  static const char bearer[] = "Bearer ", basic[] = "Basic ";
  uint8_t text[4096];
  if (authorization == NULL)
    return false;
  if (strncasecmp(authorization, bearer, sizeof bearer - 1) == 0)
    return is_secret(slice_of(authorization + sizeof bearer - 1), token);
  if (strncasecmp(authorization, basic, sizeof basic - 1) != 0)
    return false;
  int length = base64_decode(slice_of(authorization + sizeof basic - 1), text, sizeof text);
  struct slice user, password = {(const char *)text, length > 0 ? (size_t)length : 0};
  return slice_cut(&password, ':', &user) && password.data != NULL &&
         is_secret(password, token); // the user's name is any
}

// ---- users -----------------------------------------------------------------------------------------------------------
bool guard_is_name(struct slice name)
{
  bool is_good = name.length > 0 && name.length <= 64;
  for (size_t i = 0; is_good && i < name.length; i++)
    is_good = isalnum((unsigned char)name.data[i]) || memchr("._-", name.data[i], 3) != NULL;
  return is_good;
}

static const char *read_user(struct slice line, const char *owners, struct arena *arena, struct guard_user *users,
                             size_t count)
{
  struct slice name = {line.data, 0}, token;
  while (name.length < line.length && !isspace((unsigned char)line.data[name.length]))
    name.length++;
  token = slice_trim(slice_after(line, name.length));
  if (!guard_is_name(name))
    return "a name has letters, digits, \".\", \"_\" and \"-\", at most 64";
  if (token.length == 0)
    return "there is no token after the name";
  for (size_t i = 0; i < token.length; i++)
    if (token.data[i] <= ' ' || token.data[i] > '~')
      return "the token has white space or bytes that are not ASCII";
  if (slice_is(token, owners))
    return "this token is the owner's";
  for (size_t i = 0; i < count; i++)
    if (slice_is(name, users[i].name) || slice_is(token, users[i].token))
      return "an earlier line has the same name or token";
  users[count] =
      (struct guard_user){arena_copy(arena, name.data, name.length), arena_copy(arena, token.data, token.length)};
  return NULL;
}

const char *guard_read_users(struct slice text, const char *owners, struct arena *arena, struct guard_user **ret_users,
                             unsigned *ret_line)
{
  struct slice rest = text, line;
  size_t most = 2, count = 0;
  for (size_t i = 0; i < text.length; i++)
    most += text.data[i] == '\n';
  struct guard_user *users = *ret_users = arena_alloc_array(arena, most, sizeof *users);
  const char *problem = NULL;
  for (*ret_line = 1; problem == NULL && slice_cut(&rest, '\n', &line); *ret_line += problem == NULL) {
    line = slice_trim(line);
    if (line.length > 0 && (problem = read_user(line, owners, arena, users, count)) == NULL)
      count++;
  }
  return problem;
}

// ---- this machine, other sites -----------------------------------------------------------------------------------------
// The host of "host:port", "[host]:port" or "host". False: what follows the host is no port.
static bool cut_port(const char *text, char *host, size_t size)
{
  const char *end = text[0] == '[' ? strchr(text, ']') : strchr(text, ':');
  const char *from = text[0] == '[' ? text + 1 : text;
  size_t length = end != NULL ? (size_t)(end - from) : strlen(from);
  if (length >= size || (text[0] == '[' && end == NULL))
    return false;
  memcpy(host, from, length);
  host[length] = 0;
  const char *port = end != NULL ? end + (text[0] == '[') : "";
  return *port == 0 || (*port == ':' && strspn(port + 1, "0123456789") == strlen(port + 1));
}

bool guard_is_local_host(const char *host)
{
  char name[256];
  struct in_addr four;
  struct in6_addr six;
  if (host == NULL || !cut_port(host, name, sizeof name))
    return false;
  if (strcasecmp(name, "localhost") == 0)
    return true;
  if (host[0] == '[')
    return inet_pton(AF_INET6, name, &six) == 1 && IN6_IS_ADDR_LOOPBACK(&six);
  return inet_pton(AF_INET, name, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

bool guard_is_own_origin(const char *origin, const char *host)
{
  if (origin == NULL)
    return true;
  const char *authority = strstr(origin, "://");
  return authority != NULL && host != NULL && strcasecmp(authority + 3, host) == 0;
}

bool guard_is_own_fetch(const char *site)
{
  return site == NULL || strcmp(site, "same-origin") == 0 || strcmp(site, "none") == 0;
}
