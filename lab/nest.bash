# What a topology declares as loop devices of this machine: a limit is one that lies under those of
# its disks, and the kernel holds each to its rate, in one control group. Sourced by lab/host. Makes
# devices over its own images only, and takes down what it has made.

# What build_nest and make_group set: devices by the name of their limit or disk, in the order in
# which they were made; the group.
made_names=()
declare -A made_device=() made_below=() made_bytes=()
group=""

# How often something that the kernel does in its own time is tried again, a twentieth of a second
# apart.
readonly TRIES=100

# Fails unless this machine can do it.
check_nest() {
  ((EUID == 0)) || lack "loop devices and control groups need root"
  [[ -e /dev/loop-control ]] || lack "there is no /dev/loop-control: this kernel has no loop devices"
  command -v losetup >/dev/null || lack "losetup is missing: install util-linux (Debian: mount)"
  group_way >/dev/null || lack "no control group can hold devices back: neither blkio nor io.max"
}

# All devices; images lie below that directory.
build_nest() {
  local images=$1 file=$2 name
  local -A bytes_under=() next_offset=()
  for name in "${disk_names[@]}"; do
    place="$file, disk $name"
    check_disk "$name"
    add_bytes "${disk_parent[$name]}" "${disk_size[$name]}"
  done
  for name in "${limit_names[@]}"; do
    [[ ! -v bytes_under[$name] ]] ||
      make_device "$images" "$name" "${limit_parent[$name]}" "${bytes_under[$name]}"
  done
  for name in "${disk_names[@]}"; do
    make_device "$images" "$name" "${disk_parent[$name]}" "${disk_size[$name]}"
  done
}

check_disk() {
  local name=$1
  [[ ! -v limit_rate[$name] ]] || refuse "there is a limit of that name too"
  [[ ! -v disk_faults[$name] ]] || refuse "faults are for guests: lab/run"
  [[ ${disk_medium[$name]} != cache ]] || refuse "a volatile cache is for guests: lab/run"
}

# Counts a disk's bytes for its limit and those around that.
add_bytes() {
  local limit=$1
  while [[ -n $limit ]]; do
    bytes_under[$limit]=$((${bytes_under[$limit]-0} + $2))
    limit=${limit_parent[$limit]}
  done
}

# One loop device: a part of its limit's, or the whole of an image of its own.
make_device() {
  local images=$1 name=$2 parent=$3 size=$4 below offset=0
  if [[ -n $parent ]]; then
    below=${made_device[$parent]}
    offset=${next_offset[$parent]-0}
    next_offset[$parent]=$((offset + size))
  else
    below=$images/$name.raw
    make_raw "$below" "$size"
  fi
  made_device[$name]=$(loop_over "$below" "$offset" "$size") || exit
  made_below[$name]=$below
  made_bytes[$name]=$size
  made_names+=("$name")
}

make_raw() {
  local file=$1 size=$2
  [[ -e $file ]] || truncate -s "$size" "$file"
  [[ $(stat -c %s "$file") == "$size" ]] || refuse "$file has another size: take another --disks"
}

# Past the page cache: else a limit below would be met only once.
loop_over() {
  local below=$1 offset=$2 size=$3 try said=""
  for ((try = 0; try < TRIES; try++)); do
    said=$(losetup --find --show --direct-io=on -o "$offset" --sizelimit "$size" "$below" 2>&1) && {
      printf '%s\n' "$said"
      return
    }
    # Between finding a free one and taking it, someone else may have taken it.
    [[ $said == *busy* ]] || break
    sleep 0.05
  done
  lack "no loop device: $said"
}

# Which control groups there are: v1 DIRECTORY or v2 DIRECTORY.
group_way() {
  local file_system=/sys/fs/cgroup
  if [[ -e $file_system/blkio/blkio.throttle.read_bps_device ]]; then
    echo "v1 $file_system/blkio"
  elif grep -qsw io "$file_system/cgroup.controllers"; then
    echo "v2 $file_system"
  else
    return 1
  fi
}

# The group, with a rule for each device that has a rate. All are in one: a rule of a group around
# it would not hold for what is done in it.
make_group() {
  local way directory name rates
  read -r way directory <<<"$(group_way)"
  if [[ $way == v2 ]] && ! grep -qsw io "$directory/cgroup.subtree_control"; then
    lack "groups of $directory do not hold devices back: echo +io > $directory/cgroup.subtree_control"
  fi
  mkdir "$directory/sustain-lab-$$" 2>/dev/null || lack "no control group in $directory"
  group=$directory/sustain-lab-$$
  for name in "${made_names[@]}"; do
    read -ra rates <<<"${limit_rate[$name]-${disk_rate[$name]-}}"
    ((${#rates[@]} == 0)) || hold_back "$way" "${made_device[$name]}" "${rates[0]}" "${rates[-1]}"
  done
}

hold_back() {
  local way=$1 device=$2 read=$3 write=$4 number
  number=$(<"/sys/block/${device#/dev/}/dev")
  case $way in
    v1)
      echo "$number $read" >"$group/blkio.throttle.read_bps_device"
      echo "$number $write" >"$group/blkio.throttle.write_bps_device"
      ;;
    v2) echo "$number rbps=$read wbps=$write" >"$group/io.max" ;;
  esac
}

# Ends what is left in the group, and takes all away, the last one made first.
take_down() {
  local name index
  [[ -z $group ]] || take_down_group
  for ((index = ${#made_names[@]} - 1; index >= 0; index--)); do
    name=${made_names[index]}
    detach "${made_device[$name]}" "${made_below[$name]}"
  done
}

take_down_group() {
  local try process
  for ((try = 0; try < TRIES; try++)); do
    while read -r process; do
      kill -KILL "$process" 2>/dev/null || true
    done <"$group/cgroup.procs"
    ! rmdir "$group" 2>/dev/null || return 0
    sleep 0.05
  done
  say "$group could not be taken away"
}

# Never one that has meanwhile become someone else's.
detach() {
  local device=$1 below=$2 file=/sys/block/${1#/dev/}/loop/backing_file
  [[ -e $file && $(<"$file") == "$below" ]] || return 0
  losetup --detach "$device" || say "$device could not be taken away"
}
