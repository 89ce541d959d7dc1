#!/usr/bin/env bash
# Runs the README's commands on a machine that has nothing: fresh_machine.sh [ORDER ...]
#
# Makes an empty Debian 12 with debootstrap, adds this machine's certificates and package sources,
# clones the last commit into it and runs ./dev's verbs in each ORDER ("demo test"), every order in a
# system of its own. Prints the minutes, the core-minutes and the failures of each verb, and leaves the
# output of every verb in $FRESH_MACHINE (default /var/tmp/heed-fresh-machine), which needs 8 GB.
# Without an ORDER it takes the README's and three others. Needs root and debootstrap.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
work=${FRESH_MACHINE:-/var/tmp/heed-fresh-machine}
base=$work/base system=$work/system logs=$work/logs
orders=("$@")
((${#orders[@]})) || orders=("demo test lint" "test demo" "python demo test" "package demo test")

# What the system takes over from this machine, where it is there.
taken=(/etc/apt/sources.list /etc/apt/sources.list.d/debian.sources /etc/apt/apt.conf.d /etc/apt/auth.conf.d
  /etc/ssl/certs/ca-certificates.crt
  /etc/pip.conf /etc/xdg/pip /root/.config/pip /root/.npmrc /usr/etc/npmrc /etc/npmrc)

die() {
  echo "fresh_machine: $*" >&2
  exit 2
}

# Nothing of this machine's own may stay mounted in the system when it is removed.
remove_system() {
  local place
  for place in proc dev/pts $(wheel_folders); do
    ! mountpoint -q "$system/$place" || umount "$system/$place"
  done
  ! grep -q " $system/" /proc/mounts || die "something is still mounted below $system"
  rm -rf --one-file-system "$system"
}

make_base() {
  local mirror path
  [[ ! -e $base/etc/debian_version ]] || return 0
  mirror=$(sed -n 's/^URIs: //p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) bookworm main.*/\2/p' \
    /etc/apt/sources.list.d/debian.sources /etc/apt/sources.list 2>/dev/null | head -n 1 || true)
  echo "making an empty Debian 12 in $base"
  debootstrap --variant=minbase --include=ca-certificates bookworm "$base.new" \
    ${mirror:+"$mirror"} >"$logs/debootstrap.log" 2>&1 ||
    die "debootstrap failed; see $logs/debootstrap.log"
  rm -f "$base.new/etc/apt/sources.list"
  for path in "${taken[@]}"; do
    [[ -e $path ]] || continue
    mkdir -p "$base.new$(dirname "$path")"
    cp -aL --remove-destination "$path" "$base.new$(dirname "$path")/"
  done
  rm -f "$base.new"/etc/apt/apt.conf.d/docker-*
  mv "$base.new" "$base"
}

# The folders of wheels that pip is configured with.
wheel_folders() {
  { cat /etc/pip.conf /etc/xdg/pip/* /root/.config/pip/pip.conf 2>/dev/null || true; } | grep -oE '(^| |file://)/[a-z/-]+' | sed 's#^ *##; s#file://##; s#/simple$##' |
    sort -u | while read -r path; do if [[ -d $path && $path == /opt/* ]]; then echo "$path"; fi; done
}

make_devices() {
  local name numbers
  while read -r name numbers; do
    [[ -e $system/dev/$name ]] || mknod -m 666 "$system/dev/$name" c $numbers
  done <<<$'null 1 3\nzero 1 5\nfull 1 7\nrandom 1 8\nurandom 1 9\ntty 5 0'
  mkdir -p -m 1777 "$system/dev/shm"
  mkdir -p "$system/dev/pts"
  ln -sfn /proc/self/fd "$system/dev/fd"
  ln -sfn pts/ptmx "$system/dev/ptmx"
}

start_system() {
  local path
  remove_system
  cp -a "$base" "$system"
  make_devices
  for path in $(wheel_folders); do
    mkdir -p "$system$path"
    mount --bind -o ro "$path" "$system$path"
  done
  mount -t proc proc "$system/proc"
  mount -t devpts -o newinstance,ptmxmode=0666 devpts "$system/dev/pts"
  cp /etc/resolv.conf /etc/hosts "$system/etc/"
  chroot "$system" bash -c 'apt-get update && apt-get install --yes --no-install-recommends git' \
    >"$logs/git.log" 2>&1 || die "could not install git; see $logs/git.log"
  git clone --quiet "$root" "$system/root/heed"
}

in_system() {
  env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
    ${SSL_CERT_FILE:+SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt} \
    ${NODE_EXTRA_CA_CERTS:+NODE_EXTRA_CA_CERTS=/etc/ssl/certs/ca-certificates.crt} \
    chroot "$system" bash -c "cd /root/heed && $1"
}

# run_verb LOG VERB: minutes, core-minutes, exit status, what the test runner said
run_verb() {
  local log=$1 verb=$2 status=0 begin end cores
  begin=$(date +%s)
  in_system "TIMEFORMAT='cores %U %S'; time ./dev $verb" >"$log" 2>&1 </dev/null || status=$?
  end=$(date +%s)
  cores=$(awk '/^cores /{printf "%.1f", ($2 + $3) / 60}' "$log")
  printf '  %-10s %6.1f min %8s core-min   exit %d   %s\n' "$verb" \
    "$(awk "BEGIN{print ($end - $begin) / 60}")" "$cores" "$status" \
    "$(grep -E 'tests passed|tests failed|tests skipped|files are clean' "$log" | paste -sd ';' || true)"
  return "$status"
}

[[ $(id -u) == 0 ]] || die "needs root"
command -v debootstrap >/dev/null || die "needs debootstrap: apt-get install debootstrap"
mkdir -p "$logs"
trap remove_system EXIT
make_base
failed=0
for order in "${orders[@]}"; do
  echo "$order"
  start_system
  for verb in $order; do
    run_verb "$logs/${order// /-}.$verb.log" "$verb" || failed=1
  done
done
exit "$failed"
