# The host's QEMU, and the guest's kernel, shell and tools as Debian packages. Sourced by lab/run. Unpacks
# into a cache, installs QEMU alone, and that only as root.

readonly CACHE=${XDG_CACHE_HOME:-$HOME/.cache}/sustain-lab

# Fails unless these commands are there, or come with that package.
need_command() {
  local command=$1 package=$2
  command -v "$command" >/dev/null && return
  if ((EUID != 0)) || ! command -v apt-get >/dev/null; then
    lack "$command is missing: install the package $package (Debian: apt-get install $package)"
  fi
  say "installing $package"
  update_lists_of "$package"
  DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package" \
    </dev/null >/dev/null 2>&1 || lack "apt-get install $package failed: run it to see why"
}

# Fetches the lists of packages where they are missing.
update_lists_of() {
  apt-cache show "$1" >/dev/null 2>&1 && return
  ((EUID == 0)) || lack "apt knows no package $1: run apt-get update as root (this needs Debian)"
  apt-get update -qq >/dev/null 2>&1 || lack "apt-get update failed: run it to see why"
}

# The packages of libraries that the tools load and that a host may lack.
readonly LIBRARY_PACKAGES=(
  libudev1 libdevmapper1.02.1
  libdevmapper-event1.02.1 libaio1 libedit2 libbsd0 libmd0
)

# Sets kernel, a directory with boot and lib/modules, no module compressed, busybox, a file, and
# tools, files: mdadm, dmsetup and lvm. One run at a time.
get_packages() {
  mkdir -p "$CACHE"
  local lock package
  exec {lock}>"$CACHE/lock"
  flock "$lock"
  busybox=$(command_of busybox-static busybox)
  tools=()
  for package in mdadm:mdadm dmsetup:dmsetup lvm2:lvm; do
    tools+=("$(command_of "${package%:*}" "${package#*:}")")
  done
  for package in "${LIBRARY_PACKAGES[@]}"; do
    package=$(library_package "$package")
    unpacked_package "$package" >/dev/null
  done
  package=$(kernel_package)
  kernel=$(unpacked_package "$package")
  # Debian 13 has all of it below /usr.
  [[ -d $kernel/lib ]] || ln -s usr/lib "$kernel/lib"
  local modules=("$kernel"/lib/modules/*)
  if [[ ! -s ${modules[0]}/modules.dep ]]; then
    unpack_modules "${modules[0]}"
    "$busybox" depmod -b "$kernel" "${modules[0]##*/}" || fail "depmod failed on $kernel"
  fi
  # Else the guest would hold it.
  exec {lock}>&-
}

# Leaves no module compressed: a plain one is read by whatever loads it.
unpack_modules() {
  unpack_modules_by "$1" ko.xz xz-utils xz -d
  unpack_modules_by "$1" ko.zst zstd zstd -d -q --rm
}

unpack_modules_by() {
  local directory=$1 ending=$2 package=$3
  shift 3
  [[ -n $(find "$directory" -name "*.$ending" -print -quit) ]] || return 0
  need_command "$1" "$package"
  find "$directory" -name "*.$ending" -exec "$@" {} +
}

# Where an unpacked package has a command: Debian 13 has all of them below /usr.
command_of() {
  local package=$1 command=$2 directory place
  directory=$(unpacked_package "$package")
  for place in bin sbin usr/bin usr/sbin; do
    if [[ -x $directory/$place/$command ]]; then
      printf '%s\n' "$directory/$place/$command"
      return
    fi
  done
  lack "the package $package has no $command"
}

# The package of a library here: since times have 64 bits, some have that in their names.
library_package() {
  if [[ ! -d $CACHE/$1 ]] && apt-cache show "$1t64" >/dev/null 2>&1; then
    printf '%s\n' "$1t64"
  else
    printf '%s\n' "$1"
  fi
}

# Where the libraries of these packages lie, as the loader wants to hear it.
libraries_of_packages() {
  local package places=""
  for package in "${LIBRARY_PACKAGES[@]}"; do
    package=$(library_package "$package")
    places+=$(printf '%s:' "$CACHE/$package"/{lib,usr/lib}/*-linux-gnu)
  done
  printf '%s\n' "${places%:}"
}

# Says where a package lies unpacked.
unpacked_package() {
  local package=$1 directory=$CACHE/$1 scratch
  if [[ ! -d $directory ]]; then
    scratch=$(mktemp -d "$CACHE/new.XXXXXX")
    unpack_package "$package" "$scratch"
    mv -T "$scratch/unpacked" "$directory"
    rm -rf "$scratch"
  fi
  printf '%s\n' "$directory"
}

unpack_package() {
  local package=$1 scratch=$2
  say "fetching the package $package into $CACHE"
  if ! download "$package" "$scratch"; then
    # The lists may name a version that is no more.
    ((EUID != 0)) || apt-get update -qq >/dev/null 2>&1 || true
    download "$package" "$scratch" || {
      say "$(cat "$scratch/log")"
      rm -rf "$scratch"
      lack "apt-get download $package failed"
    }
  fi
  dpkg-deb -x "$scratch"/*.deb "$scratch/unpacked"
}

# As root apt drops to a user who may not write there, and only warns of that.
download() { (cd "$2" && apt-get download -qq "$1" >/dev/null 2>log); }

# The package that linux-image-amd64 stands for today.
kernel_package() {
  update_lists_of linux-image-amd64
  local package
  package=$(apt-cache depends linux-image-amd64 |
    sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
  [[ $package == linux-image-[0-9]* ]] || lack "linux-image-amd64 names no kernel: is this Debian?"
  printf '%s\n' "$package"
}
