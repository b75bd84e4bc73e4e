# The guest's first file system: a shell, the kernel modules, the binaries, what to run. Sourced by
# lab/run; writes below the directory it is given only.

# Of these and what they need the image is made; the guest loads what its topology asks for.
readonly MODULES=(
  virtio_pci virtio_console 9pnet_virtio 9p
  ata_piix ahci nvme virtio_blk virtio_scsi sd_mod sg
  raid0 raid1 raid456 dm-mod dm-flakey dm-delay loop bfq crc32c_generic ext4 xfs
)

# Puts the image together: DIRECTORY/initramfs, from DIRECTORY/root. Binaries may follow.
make_image() {
  local directory=$1 kernel=$2 busybox=$3 sustain=$4
  shift 4
  local root=$directory/root
  mkdir -p "$root"/{bin,dev,lab,out,proc,run,sys,tmp,root}
  cp "$busybox" "$root/bin/busybox"
  ln -s busybox "$root/bin/sh"
  cp "$LAB/init" "$root/init"
  add_binary "$root" "$sustain" sustain
  local binary
  for binary in "$@"; do
    add_binary "$root" "$binary" "${binary##*/}"
  done
  add_lvm_settings "$root"
  add_modules "$root" "$kernel"
  (cd "$root" && find . | "$busybox" cpio -o -H newc 2>/dev/null) >"$directory/initramfs"
}

# A binary and the libraries that it loads, at their places: those of unpacked packages where the
# packages have them.
add_binary() {
  local root=$1 binary=$2 to=$1/bin/$3 library place
  # Symbols would be most of what the guest has to unpack.
  strip -o "$to" "$binary" 2>/dev/null || cp "$binary" "$to"
  while read -r library; do
    place=$library
    [[ $library != "$CACHE"/* ]] || place=${library#"$CACHE"/*/}
    mkdir -p "$root/$(dirname "$place")"
    cp -L "$library" "$root/$place"
  done < <(LD_LIBRARY_PATH=$(libraries_of_packages) ldd "$binary" | grep -o '/[^ ]*')
}

# No udev runs in the guest: LVM has to make the nodes of its volumes itself.
add_lvm_settings() {
  mkdir -p "$1/etc/lvm"
  echo 'activation { udev_sync = 0 udev_rules = 0 }' >"$1/etc/lvm/lvm.conf"
}

# The modules, and the list by which modprobe finds what they need.
add_modules() {
  local root=$1 kernel=$2
  local modules=("$kernel"/lib/modules/*)
  local to=$root/lib/modules/${modules[0]##*/}
  mkdir -p "$to"
  cp "${modules[0]}/modules.dep" "${modules[0]}/modules.builtin" "$to"
  local file
  while read -r file; do
    mkdir -p "$to/${file%/*}"
    cp "${modules[0]}/$file" "$to/$file"
  done < <(files_of_modules "${modules[0]}/modules.dep")
}

# The files of all modules of the image, each once, from "file: needed needed".
files_of_modules() {
  awk -F: -v wanted="${MODULES[*]}" '
    BEGIN { count = split(wanted, names, " "); for (i = 1; i <= count; i++) want[names[i] ".ko"] }
    {
      name = $1
      sub(/.*\//, "", name)
      if (name in want) print $1 $2
    }' "$1" | tr ' ' '\n' | sed '/^$/d' | sort -u
}
