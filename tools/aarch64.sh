# shellcheck shell=sh
# SPDX-License-Identifier: Apache-2.0
# Sourced by tools/test_aarch64 and tools/dist: building for aarch64 and running what was built, on Debian 12 of x86-64, as root.
# build/aarch64 has the libraries and the Python of an arm64 Debian, unpacked once.
. tools/package_index.sh
aarch64_root=$(pwd -P)/${XSP_BUILD:-build}/aarch64/root
aarch64_packages=libc6-dev,libstdc++-12-dev,libsqlite3-dev,libzstd-dev,zlib1g-dev,libyaml-dev,libssl-dev,libjpeg-dev,libpng-dev
aarch64_packages=$aarch64_packages,libdw-dev,libbz2-dev,libcurl4-openssl-dev,libiberty-dev,libpq-dev,libmicrohttpd-dev
aarch64_packages=$aarch64_packages,opencl-c-headers,libcmocka-dev,python3-dev
aarch64_fail() { echo "$0: $*" >&2; exit 3; }

# Packages are unpacked, not installed: their scripts would need QEMU. Links to the root of a system become relative ones.
aarch64_make_root() {
  mirror=$(package_index)
  rm -rf "$aarch64_root" && mkdir -p "$aarch64_root"
  log=$aarch64_root/../debootstrap.log
  debootstrap --foreign --arch=arm64 --variant=minbase --include="$aarch64_packages" bookworm "$aarch64_root" "$mirror" >"$log" 2>&1 ||
    { tail -5 "$log" >&2; aarch64_fail "debootstrap failed; all output: $log"; }
  for package in "$aarch64_root"/var/cache/apt/archives/*.deb; do dpkg-deb -x "$package" "$aarch64_root"; done
  rm -rf "$aarch64_root/var/cache/apt/archives"
  find "$aarch64_root/usr/lib" "$aarch64_root/lib" -type l -lname '/*' | while read -r link; do
    ln -sfn "$(realpath -m --relative-to="${link%/*}" "$aarch64_root$(readlink "$link")")" "$link"
  done
  echo "$aarch64_packages" >"$aarch64_root/../made"
}

# aarch64_build GOAL [--programs] FOLDER [CMake options]: GOAL is of make, for advice.
aarch64_build() {
  [ "$(id -u)" = 0 ] || aarch64_fail "needs root, to unpack another system; try: sudo make $1"
  for tool in debootstrap qemu-aarch64:qemu-user aarch64-linux-gnu-gcc:gcc-aarch64-linux-gnu aarch64-linux-gnu-g++:g++-aarch64-linux-gnu; do
    command -v "${tool%:*}" >/dev/null || apt-get install -y -q --no-install-recommends "${tool#*:}" >/dev/null
  done
  shift
  [ "$(cat "$aarch64_root/../made" 2>/dev/null)" = "$aarch64_packages" ] || aarch64_make_root
  tools/build "$@" -DCMAKE_TOOLCHAIN_FILE=cmake/aarch64.cmake -DCMAKE_SYSROOT="$aarch64_root"
}

# aarch64_run COMMAND...: the kernel starts aarch64's programs by QEMU in this command's namespaces alone.
aarch64_run() {
  # shellcheck disable=SC2016 # expanded by the inner shell
  QEMU_LD_PREFIX=$aarch64_root unshare -rm sh -euc '
    mount -t binfmt_misc binfmt_misc /proc/sys/fs/binfmt_misc
    magic="\x7fELF\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00"
    mask="\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff"
    printf %s ":aarch64:M::$magic:$mask:$(command -v qemu-aarch64):F" >/proc/sys/fs/binfmt_misc/register
    exec "$@"' sh "$@"
}
