# Topology files, docs/lab.md, read into what they declare. Sourced by lab/run and lab/host. Makes
# nothing: lab/qemu.bash and lab/nest.bash do.

# What read_topology sets, by name. A rate is "BYTES", for both ways together, or "READ WRITE".
limit_names=() disk_names=() driver_modules=()
declare -A limit_parent=() limit_rate=()
declare -A disk_place=() disk_size=() disk_rate=() disk_parent=() disk_medium=() disk_faults=()
declare -A disk_block=()

# Reads the file.
read_topology() {
  local file=$1 line words number=0 name
  local -A disk_lines=()
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
  # Their limits may stand below them.
  for name in "${disk_names[@]}"; do
    read -ra words <<<"${disk_lines[$name]}"
    place="$file, disk $name"
    read_disk "${words[@]}"
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

# Sets rate to RATE or read RATE write RATE in bytes, and used to how many words that took.
read_rate() {
  if [[ ${1-} == read && ${3-} == write && $# -ge 4 ]]; then
    rate="$(rate_of "$2") $(rate_of "$4")"
    used=4
  else
    rate=$(rate_of "${1-}")
    used=1
  fi
}

# limit NAME RATE [in LIMIT]
read_limit() {
  local name=${1-} rate used
  check_name "$name"
  [[ ! -v limit_rate[$name] ]] || refuse "there is a limit $name already"
  shift
  read_rate "$@"
  shift "$used"
  limit_names+=("$name")
  limit_rate[$name]=$rate
  limit_parent[$name]=
  (($# == 0)) && return
  [[ $# == 2 && $1 == in ]] || refuse "after the rate may follow: in LIMIT"
  check_limit "$2"
  limit_parent[$name]=$2
}

check_limit() { [[ -n $1 && -v limit_rate[$1] ]] || refuse "there is no limit '$1'"; }

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

# disk NAME PLACE SIZE [RATE] [in LIMIT] [on MEDIUM] [block SIZE]
read_disk() {
  local name=$1 rate="" used size
  disk_place[$name]=${2-}
  size=$(bytes_of "${3-}")
  ((size > 0 && size % 4096 == 0)) || refuse "a size is a multiple of 4KiB"
  shift 3
  if [[ ${1-} == read || ${1-} == */s ]]; then
    read_rate "$@"
    shift "$used"
  fi
  disk_size[$name]=$size
  disk_rate[$name]=$rate
  disk_parent[$name]=
  disk_medium[$name]=file
  disk_block[$name]=
  while (($#)); do
    case "$1 ${2-}" in
      in\ *) disk_parent[$name]=${2-} && check_limit "${2-}" ;;
      on\ file | on\ null | on\ cache) disk_medium[$name]=$2 ;;
      block\ *) disk_block[$name]=$(bytes_of "${2-}") ;;
      *) refuse "'$1 ${2-}' is none of: in LIMIT, on file, on null, on cache, block SIZE" ;;
    esac
    shift 2
  done
}
