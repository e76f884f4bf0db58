# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Sourced by tools/test_bare and tools/aarch64.sh.
# package_index: prints the first package index of this Debian machine; nothing where none is set.
package_index() {
  cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
    sed -nE 's/^deb (\[[^]]*\] )?([a-z]+:[^ ]+) .*/\2/p; s/^URIs: ([^ ]+).*/\1/p' | head -1
}
