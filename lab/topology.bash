# Topology files, docs/lab.md, read into arguments for QEMU. Sourced by lab/run. Makes no image:
# lab/disks.bash does.

# What read_topology sets: QEMU's arguments, the disks' names, the drivers that the guest loads.
qemu_arguments=()
disk_names=()
driver_modules=()

# What the lines so far have declared.
declare -A limit_parent=() limit_exists=() controller_exists=()
# Disks are put together when all lines are read: their faults may stand below them.
declare -A disk_faults=() disk_lines=()

# Reads the file; images lie, or are made, below that directory.
read_topology() {
  local file=$1 images=$2 line words number=0 name
  while IFS= read -r line || [[ -n $line ]]; do
    number=$((number + 1))
    read -ra words <<<"${line%%#*}"
    ((${#words[@]})) || continue
    place="$file, line $number"
    case ${words[0]} in
      limit) read_limit "${words[@]:1}" ;;
      disk) note_disk "${words[@]:1}" ;;
      fault) read_fault "${words[@]:1}" ;;
      # File systems ask for this checksum by another name than the module's.
      module) driver_modules+=(crc32c_generic "${words[@]:1}") ;;
      *) refuse "'${words[0]}' is none of limit, disk, fault, module" ;;
    esac
  done <"$file"
  ((${#disk_names[@]})) || fail "$file has no disk"
  for name in "${!disk_faults[@]}"; do
    [[ -v disk_lines[$name] ]] || fail "$file has a fault of $name, and no disk of that name"
  done
  for name in "${disk_names[@]}"; do
    read -ra words <<<"${disk_lines[$name]}"
    place="$file, disk $name"
    add_disk "$images" "${words[@]}"
  done
}

refuse() { fail "$place: $*"; }

check_name() {
  # A serial number of IDE has 20 characters; parts of nodes' names are joined by dashes.
  [[ $1 =~ ^[a-z][a-z0-9]{0,15}$ ]] ||
    refuse "'$1' is no name: small letters and digits, 16 at most"
}

# Bytes of 1GiB, 64KiB, 2.5GB.
bytes_of() {
  local text=$1 unit
  [[ $text =~ ^([0-9]+(\.[0-9]+)?)(B|kB|MB|GB|TB|KiB|MiB|GiB|TiB)$ ]] ||
    refuse "'$text' is no size, as 1GiB or 500MB"
  case ${BASH_REMATCH[3]} in
    B) unit=1 ;;
    kB) unit=1000 ;;
    MB) unit=1000000 ;;
    GB) unit=1000000000 ;;
    TB) unit=1000000000000 ;;
    KiB) unit=1024 ;;
    MiB) unit=1048576 ;;
    GiB) unit=1073741824 ;;
    TiB) unit=1099511627776 ;;
  esac
  awk -v number="${BASH_REMATCH[1]}" -v unit="$unit" 'BEGIN { printf "%.0f\n", number * unit }'
}

# Bytes per second of 11.7MB/s.
rate_of() {
  [[ $1 == */s ]] || refuse "'$1' is no rate, as 11.7MB/s"
  bytes_of "${1%/s}"
}

# Declares a throttle: id, then RATE or read RATE write RATE. Sets used, how many words that took.
add_throttle() {
  local id=$1 rate rate_write
  shift
  if [[ ${1-} == read && ${3-} == write && $# -ge 4 ]]; then
    rate=$(rate_of "$2")
    rate_write=$(rate_of "$4")
    qemu_arguments+=(-object
      "throttle-group,id=$id,x-bps-read=$rate,x-bps-write=$rate_write")
    used=4
  else
    rate=$(rate_of "${1-}")
    qemu_arguments+=(-object "throttle-group,id=$id,x-bps-total=$rate")
    used=1
  fi
}

# limit NAME RATE [in LIMIT]
read_limit() {
  local name=${1-}
  check_name "$name"
  [[ ! -v limit_exists[$name] ]] || refuse "there is a limit $name already"
  shift
  add_throttle "limit-$name" "$@"
  shift "$used"
  limit_exists[$name]=1
  limit_parent[$name]=
  (($# == 0)) && return
  [[ $# == 2 && $1 == in ]] || refuse "after the rate may follow: in LIMIT"
  check_limit "$2"
  limit_parent[$name]=$2
}

check_limit() { [[ -n $1 && -v limit_exists[$1] ]] || refuse "there is no limit '$1'"; }

# disk NAME DRIVER SIZE ...
note_disk() {
  local name=${1-}
  check_name "$name"
  [[ ! -v disk_lines[$name] ]] || refuse "there is a disk $name already"
  disk_names+=("$name")
  disk_lines[$name]="$*"
}

# fault DISK read|write|flush EIO|ENOSPC [at OFFSET | after COUNT] [once]
read_fault() {
  local name=${1-} operation=${2-} error=${3-} sector="" after=0 once=off
  check_name "$name"
  case $operation in read | write | flush) ;; *) refuse "a fault is of read, write or flush" ;; esac
  case $error in EIO) error=5 ;; ENOSPC) error=28 ;; *) refuse "a fault is EIO or ENOSPC" ;; esac
  shift 3
  while (($#)); do
    case $1 in
      at)
        sector=$(bytes_of "${2-}")
        sector=$((sector / 512))
        shift
        ;;
      after)
        after=${2-}
        shift
        ;;
      once) once=on ;;
      *) refuse "'$1' is none of at OFFSET, after COUNT, once" ;;
    esac
    shift
  done
  [[ $after =~ ^[0-9]{1,4}$ ]] || refuse "after COUNT has up to four digits"
  [[ $operation != flush || -z $sector ]] || refuse "a flush is nowhere"
  disk_faults[$name]+="$operation $error ${sector:--} $after $once"$'\n'
}

# One disk, from its medium up: faults, limits from the outermost in, its own rate, the device.
add_disk() {
  local images=$1 name=$2 driver=${3-} size rate=() parent="" medium=file node
  size=$(bytes_of "${4-}")
  ((size > 0 && size % 4096 == 0)) || refuse "a size is a multiple of 4KiB"
  shift 4
  if [[ ${1-} == read && $# -ge 4 ]]; then
    rate=("${@:1:4}")
  elif [[ ${1-} == */s ]]; then
    rate=("$1")
  fi
  shift "${#rate[@]}"
  while (($#)); do
    case "$1 ${2-}" in
      in\ *) parent=${2-} && check_limit "$parent" ;;
      on\ file | on\ null | on\ cache) medium=$2 ;;
      *) refuse "'$1 ${2-}' is none of: in LIMIT, on file, on null, on cache" ;;
    esac
    shift 2
  done
  add_medium "$images" "$name" "$size" "$medium"
  add_faults "$images" "$name"
  add_limits "$name" "$parent"
  if ((${#rate[@]})); then
    add_throttle "disk-$name" "${rate[@]}"
    add_filter "$name" "disk-$name"
  fi
  add_device "$name" "$driver"
}

# Puts a throttle on top of node, which becomes it.
add_filter() {
  local name=$1 group=$2
  qemu_arguments+=(-blockdev
    "driver=throttle,node-name=$name-$group,throttle-group=$group,file=$node")
  node=$name-$group
}

# The outermost limit lies lowest: what waits there has passed all others.
add_limits() {
  local name=$1 limit=$2
  [[ -n $limit ]] || return 0
  add_limits "$name" "${limit_parent[$limit]}"
  add_filter "$name" "limit-$limit"
}

# The device at its place, DRIVER or DRIVER:CONTROLLER.PORT.
add_device() {
  local name=$1 driver=${2%%:*} controller=0 port=0 device
  if [[ $2 == *:* ]]; then
    [[ $2 =~ :([0-9])\.([0-9]{1,2})$ ]] || refuse "'$2' is no place, as ide:0.1"
    controller=${BASH_REMATCH[1]} port=${BASH_REMATCH[2]}
  fi
  case $driver in
    ide) device="ide-hd,bus=ide.$controller,unit=$port" && driver_modules+=(ata_piix sd_mod) ;;
    ahci)
      add_controller "ahci$controller" ich9-ahci
      device="ide-hd,bus=ahci$controller.$port" && driver_modules+=(ahci sd_mod)
      ;;
    scsi)
      add_controller "scsi$controller" virtio-scsi-pci
      device="scsi-hd,bus=scsi$controller.0,scsi-id=$port" && driver_modules+=(virtio_scsi sd_mod)
      ;;
    virtio) device=virtio-blk-pci && driver_modules+=(virtio_blk) ;;
    nvme) device=nvme && driver_modules+=(nvme) ;;
    *) refuse "'$driver' is none of ide, ahci, scsi, virtio, nvme" ;;
  esac
  # Else QEMU would stop the guest at some errors.
  [[ $driver == nvme ]] || device+=,rerror=report,werror=report
  qemu_arguments+=(-device "$device,drive=$node,serial=$name,id=$name")
}

add_controller() {
  [[ ! -v controller_exists[$1] ]] || return 0
  controller_exists[$1]=1
  qemu_arguments+=(-device "$2,id=$1")
}
