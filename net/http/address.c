// SPDX-License-Identifier: Apache-2.0
// Resolves the address of --listen and opens its socket. Called by serve.c.
#include "http/address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define WAITING_MOST 1024 // connections that the kernel keeps until they are taken

static bool is_loopback(const struct sockaddr *address)
{
  const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)address;
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)address;
  if (address->sa_family == AF_INET)
    return ntohl(four->sin_addr.s_addr) >> 24 == 127;
  return address->sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&six->sin6_addr);
}

// "host:port" or "[host]:port" into its parts.
static bool split(const char *text, char *host, size_t size, const char **ret_port)
{
  const char *colon = strrchr(text, ':');
  if (colon == NULL)
    return false;
  bool has_brackets = text[0] == '[' && colon > text + 1 && colon[-1] == ']';
  const char *from = text + has_brackets, *end = colon - has_brackets;
  size_t length = (size_t)(end - from);
  if (length == 0 || length >= size || (!has_brackets && memchr(from, ':', length) != NULL))
    return false;
  memcpy(host, from, length);
  host[length] = 0;
  *ret_port = colon + 1;
  size_t digits = strspn(*ret_port, "0123456789");
  return digits > 0 && digits <= 5 && (*ret_port)[digits] == 0;
}

static enum status open_socket(const char *text, const struct addrinfo *found, struct http_address *address,
                               struct error *err)
{
  static const int on = 1;
  struct sockaddr_storage taken;
  socklen_t length = sizeof taken;
  char host[INET6_ADDRSTRLEN] = "";
  address->socket = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  bool is_open = address->socket >= 0;
  if (is_open)
    setsockopt(address->socket, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  if (is_open && found->ai_family == AF_INET6)
    setsockopt(address->socket, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on); // [::] would be all of IPv4, too
  if (!is_open || bind(address->socket, found->ai_addr, found->ai_addrlen) != 0 ||
      listen(address->socket, WAITING_MOST) != 0 ||
      getsockname(address->socket, (struct sockaddr *)&taken, &length) != 0) {
    enum status status = error_set_errno(err, STATUS_SYSTEM, "cannot listen", text, "--listen with another address");
    if (is_open)
      close(address->socket);
    address->socket = -1;
    return status;
  }
  const struct sockaddr_in *four = (const struct sockaddr_in *)(const void *)&taken;
  const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)(const void *)&taken;
  bool is_four = taken.ss_family == AF_INET;
  address->port = ntohs(is_four ? four->sin_port : six->sin6_port);
  inet_ntop(taken.ss_family, is_four ? (const void *)&four->sin_addr : (const void *)&six->sin6_addr, host,
            sizeof host);
  snprintf(address->text, sizeof address->text, is_four ? "%s:%u" : "[%s]:%u", host, (unsigned)address->port);
  return STATUS_OK;
}

enum status http_address_listen(const char *text, bool must_be_loopback, struct http_address *ret_address,
                                struct error *err)
{
  char host[256];
  const char *port = NULL;
  *ret_address = (struct http_address){.socket = -1};
  if (!split(text, host, sizeof host, &port) || strtol(port, NULL, 10) > UINT16_MAX)
    return error_set(err, STATUS_USE, "wrong use", "--listen", "--listen 127.0.0.1:4318",
                     "\"%s\" is not HOST:PORT (IPv6 addresses in brackets)", text);
  struct addrinfo *found = NULL;
  const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE | AI_NUMERICSERV};
  int failure = getaddrinfo(host, port, &wanted, &found);
  if (failure != 0)
    return error_set(err, STATUS_USE, "wrong use", "--listen", "--listen 127.0.0.1:4318", "\"%s\": %s", host,
                     gai_strerror(failure));
  enum status status = STATUS_OK;
  ret_address->is_loopback = is_loopback(found->ai_addr);
  if (must_be_loopback && !ret_address->is_loopback)
    status = error_set(err, STATUS_USE, "wrong use", "--listen", "--token-file FILE",
                       "%s is not this machine alone: others may send only with a token", text);
  if (status == STATUS_OK)
    status = open_socket(text, found, ret_address, err);
  freeaddrinfo(found);
  return status;
}
