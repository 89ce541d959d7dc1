#!/usr/bin/env bash
# The packages of Debian: package_test.sh HOW SOURCE BUILD VERSION. $CC is a compiler of C. HOW is
#   made       makes them, and judges what they say of themselves and what they hold
#   unpacked   unpacks them into one folder, and uses what lies there
#   installed  installs them with apt into a fresh Debian, and uses them there (root, network, minutes)
set -euo pipefail
how=$1 source=$2 build=$3 version=$4
made=$build/package_test/made work=$build/package_test/$how
architecture=$(dpkg --print-architecture)

fail() {
  echo "$*" >&2
  exit 1
}

package() { echo "$made/$1_${version}_$architecture.deb"; }

# expect_field PACKAGE FIELD PATTERN
expect_field() {
  local found
  found=$(dpkg-deb --field "$(package "$1")" "$2")
  [[ $found =~ $3 ]] || fail "$1: $2 is '$found', expected $3"
}

# expect_files PACKAGE FILE...
expect_files() {
  local files file
  files=$(dpkg-deb --contents "$(package "$1")" | awk '{print $6}')
  for file in "${@:2}"; do
    grep -qx "\./usr/$file" <<<"$files" || fail "$1 has no /usr/$file"
  done
  ! grep -v '^\./usr/' <<<"$files" | grep -v '^\./$' || fail "$1 has files outside of /usr"
}

judge() {
  local name names=(heed libheed-c0 libheed-dev)
  [[ ! -e $build/heed_mpi.so ]] || names+=(heed-mpi)
  for name in "${names[@]}"; do
    expect_field "$name" Package "^$name$"
    expect_field "$name" Version "^$version$"
    expect_field "$name" Maintainer '.+ <.+@.+>'
    expect_field "$name" Description 'attention'
    expect_files "$name" "share/doc/$name/copyright" "share/doc/$name/changelog.gz"
  done
  if [[ -e $build/heed_mpi.so ]]; then
    expect_field heed-mpi Depends "heed \(= $version\).*mpi"
    expect_files heed-mpi lib/heed/heed_mpi.so share/doc/heed-mpi/copyright
  fi
  expect_field heed Depends 'libc6 .*libfmt9'
  expect_field libheed-c0 Depends '^libc6 [^,]*, libgcc-s1 [^,]*, libstdc\+\+6 [^,]*$'
  expect_field libheed-c0 Section '^libs$'
  expect_field libheed-dev Depends "libheed-c0 \(= $version\), libfmt-dev"
  expect_files heed bin/heed share/man/man1/heed.1.gz share/heed/models/tales/model.safetensors
  expect_files libheed-c0 "lib/libheed_c.so.0" "lib/libheed_c.so.$version"
  expect_files libheed-dev include/heed/heed.h include/heed/c.h lib/libheed.a lib/libheed_c.so \
    lib/cmake/heed/heed-config.cmake lib/pkgconfig/heed.pc lib/pkgconfig/heed-c.pc
  [[ $(dpkg-deb --info "$(package libheed-c0)" shlibs) == "libheed_c 0 libheed-c0 (>= $version)" ]] ||
    fail "libheed-c0 has other shlibs"
  [[ $(dpkg-deb --info "$(package libheed-c0)" triggers) == *ldconfig* ]] || fail "libheed-c0 does not run ldconfig"
  for name in "${names[@]}"; do
    ! dpkg-deb --ctrl-tarfile "$(package "$name")" | tar --list | grep -E '/(pre|post)(inst|rm)$' ||
      fail "$name has scripts, and needs none"
  done
}

# use ROOT: runs the program below ROOT, and compiles the example of C against it.
use() {
  local usr=$1/usr flags
  # Not grep -q: it ends at the first match, and gunzip then ends by SIGPIPE, which pipefail reports.
  gunzip -c "$usr/share/man/man1/heed.1.gz" | grep -x '.SH HEED LOOK' >/dev/null || fail "heed.1 has no heed look"
  [[ $("$usr/bin/heed" --version) == *"$version"* ]] || fail "heed --version"
  HEED_MODELS='' HF_HOME=$work "$usr/bin/heed" look "The king had a daughter." --format tsv | grep king >/dev/null ||
    fail "heed look finds no model"
  flags=$(PKG_CONFIG_PATH=$usr/lib/pkgconfig pkg-config --cflags --libs heed-c)
  $CC -std=c99 -Wall -Wextra -pedantic -Werror "$source/examples/c/attention.c" -o "$work/attention" $flags
  LD_LIBRARY_PATH=$usr/lib "$work/attention" | grep -F "expected 8 (q's head size)"
}

rm -rf "$work"
mkdir -p "$work"
case $how in
  made)
    # Compression takes five sixths of the time, and nothing here reads it.
    (cd "$build" && cpack -G DEB -B "$made" -D CPACK_DEBIAN_COMPRESSION_TYPE=none >"$work.log" 2>&1) || { cat "$work.log" && fail "cpack failed"; }
    judge
    ;;
  unpacked)
    for name in heed libheed-c0 libheed-dev; do dpkg -x "$(package $name)" "$work/root"; done
    use "$work/root"
    ;;
  installed)
    skip() { echo "skipped: $*" && exit 77; }
    [[ $(id -u) == 0 ]] || skip "only root makes a fresh Debian"
    command -v debootstrap >/dev/null || skip "there is no debootstrap"
    debootstrap --variant=minbase bookworm "$work/root" >"$work.log" 2>&1 || skip "debootstrap failed ($work.log)"
    trap 'umount "$work/root/proc" 2>/dev/null; rm -rf --one-file-system "$work/root"' EXIT
    mount -t proc proc "$work/root/proc" 2>/dev/null || skip "nothing may be mounted here"
    cp "$made"/*.deb "$source/examples/c/attention.c" "$work/root/tmp"
    chroot "$work/root" sh -ec '
      cd /tmp
      apt-get install --yes --no-install-recommends ./*.deb gcc libc6-dev pkg-config >/tmp/log 2>&1 || { cat /tmp/log; exit 1; }
      heed --version
      heed look "The king had a daughter." --format tsv | grep king >/dev/null
      cc -std=c99 -Wall -Wextra -pedantic -Werror attention.c -o attention $(pkg-config --cflags --libs heed-c)
      ./attention'
    ;;
  *) fail "unknown: $how" ;;
esac
