#!/usr/bin/env python3
"""Runs a test program with AVX-512 where the CPU has none: in Bochs, which emulates a Skylake-X.

A Linux of Debian boots in about two minutes and runs the tests one after the other, some hundred times slower than a CPU.
Tests of several threads take much longer, since the machine has one CPU. Installs what is missing (Debian, as root).
Usage:
    python tools/emulated_avx512.py build/release/tests/attention_tests 'Kinds/KeyForms*-*Threads*'
"""

import argparse
import os
import pathlib
import pty
import re
import shutil
import subprocess
import tempfile
import threading
import time

PACKAGES = ("bochs", "bochs-term", "bochsbios", "vgabios", "busybox-static", "cpio", "grub-pc-bin", "grub-common", "mtools",
            "xorriso")
INIT = """#!/bin/busybox sh
/bin/busybox mount -t proc proc /proc
/bin/busybox mount -t devtmpfs dev /dev
cd /tmp
if /bin/busybox grep -q avx512vl /proc/cpuinfo; then
  /bin/tests --gtest_filter='{filter}' --gtest_color=no
  echo "status $?"
else
  echo "this Linux sees no AVX-512"
  echo "status 1"
fi
/bin/busybox sleep 1
/bin/busybox poweroff -f
"""
# Bochs gives the compact form of XSAVE another size than Linux computes, which would then use neither AVX nor AVX-512:
# clearcpuid takes away that form (XSAVEC and XSAVES).
MENU = """set timeout=0
menuentry tests {
  linux /boot/vmlinuz console=ttyS0 quiet mitigations=off nosmp clearcpuid=321,323
  initrd /boot/initrd
}
"""
MACHINE = """config_interface: textconfig
display_library: term
megs: 2048
romimage: file=/usr/share/bochs/BIOS-bochs-latest
vgaromimage: file=/usr/share/bochs/VGABIOS-lgpl-latest
cpu: model=corei7_skylake_x, count=1, ips=100000000
ata0: enabled=1, ioaddr1=0x1f0, ioaddr2=0x3f0, irq=14
ata0-master: type=cdrom, path=tests.iso, status=inserted
boot: cdrom
com1: enabled=1, mode=file, dev=serial.txt
log: bochs.txt
clock: sync=none
"""


def run(*command, **settings):
    return subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True, **settings).stdout


def install():
    known = subprocess.run(["dpkg", "-s", *PACKAGES], capture_output=True, text=True)
    if known.returncode:
        run("apt-get", "install", "-y", "--no-install-recommends", *PACKAGES)


def kernel(folder):
    """The kernel of Debian's cloud image, from its package, which is not installed."""
    depends = run("apt-cache", "depends", "linux-image-cloud-amd64")
    run("apt-get", "download", re.search(r"Depends: (linux-image-\S+)", depends)[1], cwd=folder)
    run("dpkg-deb", "-x", next(folder.glob("linux-image-*.deb")), folder / "kernel")
    return next((folder / "kernel/boot").glob("vmlinuz-*"))


def write_disk(folder, program, chosen):
    root, disk = folder / "root", folder / "disk"
    for path in (root / "bin", root / "proc", root / "dev", root / "tmp", disk / "boot/grub"):
        path.mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin")
    run("strip", "-o", root / "bin/tests", program)
    for library in re.findall(r"/lib\S+", run("ldd", program)):
        to = root / library[1:]
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(library, to)
    (root / "init").write_text(INIT.format(filter=chosen))
    (root / "init").chmod(0o755)
    shutil.copy(kernel(folder), disk / "boot/vmlinuz")
    (disk / "boot/grub/grub.cfg").write_text(MENU)
    run("sh", "-c", f"find . | cpio -o -H newc | gzip -1 > {disk}/boot/initrd", cwd=root)
    run("grub-mkrescue", "-o", folder / "tests.iso", disk)


def emulate(folder):
    """Starts Bochs on a terminal, and drops its output. Debian's Bochs waits in its debugger for `c`, continue."""
    (folder / "machine.txt").write_text(MACHINE)
    (folder / "debugger.txt").write_text("c\n")
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(folder)
        os.environ["TERM"] = "xterm"
        os.execvp("bochs", ["bochs", "-q", "-rc", "debugger.txt", "-f", "machine.txt"])

    def drain():
        try:
            while os.read(terminal, 65536):
                pass
        except OSError:  # it has ended
            pass

    threading.Thread(target=drain, daemon=True).start()
    return child


def follow(serial, child):
    """Prints what the machine writes until it is off; the status of the tests, or 1."""
    text, ended = "", False
    while not ended:
        ended = os.waitpid(child, os.WNOHANG)[0] != 0
        time.sleep(1)
        if serial.exists():
            now = serial.read_text(errors="replace")
            print(now[len(text):], end="", flush=True)
            text = now
    found = re.search(r"^status (\d+)", text, re.MULTILINE)
    return int(found[1]) if found else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("filter", nargs="?", default="*", help="of GoogleTest")
    options = parser.parse_args()
    install()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        write_disk(folder, options.program, options.filter)
        return follow(folder / "serial.txt", emulate(folder))


if __name__ == "__main__":
    raise SystemExit(main())
