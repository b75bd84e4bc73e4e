# What a disk of the guest lies on: nothing, a file, or a file under a volatile cache; and the
# faults it has. Called by lab/qemu.bash; makes files below the directory it is given only.

# Sets node to a disk's medium, which is made unless it is there.
add_medium() {
  local images=$1 name=$2 size=$3 medium=$4
  node=$name-medium
  case $medium in
    null)
      qemu_arguments+=(-blockdev "driver=null-co,node-name=$node,size=$size,read-zeroes=on")
      ;;
    file)
      make_raw "$images/$name.raw" "$size"
      qemu_arguments+=(-blockdev "driver=file,node-name=$node,filename=$images/$name.raw")
      ;;
    cache)
      add_volatile "$images" "$name" "$size"
      ;;
  esac
}

make_raw() {
  local file=$1 size=$2
  [[ -e $file ]] || truncate -s "$size" "$file"
  [[ $(stat -c %s "$file") == "$size" ]] || refuse "$file has another size: take another --disks"
}

# A layer of its own for each run: what is written to new clusters of it is lost by a power cut
# until it is flushed, as in a volatile cache. What is in layers below is not changed any more.
add_volatile() {
  local images=$1 name=$2 size=$3 layer=0 below=()
  need_command qemu-img qemu-utils
  while [[ -e $images/$name.$layer.qcow2 ]]; do
    below=(-b "$name.$layer.qcow2" -F qcow2)
    layer=$((layer + 1))
  done
  (cd "$images" && qemu-img create -q -f qcow2 "${below[@]}" "$name.$layer.qcow2" "$size") ||
    refuse "no image $images/$name.$layer.qcow2"
  qemu_arguments+=(
    -blockdev "driver=file,node-name=$node-file,filename=$images/$name.$layer.qcow2"
    -blockdev "driver=qcow2,node-name=$node,file=$node-file"
  )
}

# Puts a disk's faults on top of node, which becomes the disk with them.
add_faults() {
  local images=$1 name=$2 rules
  [[ -v disk_faults[$name] ]] || return 0
  rules=$images/$name.faults
  write_rules <<<"${disk_faults[$name]%$'\n'}" >"$rules"
  qemu_arguments+=(
    -blockdev "driver=blkdebug,node-name=$name-faults,config=$rules,image=$node"
    # Only above a format are requests counted.
    -blockdev "driver=raw,node-name=$name-faulty,file=$name-faults"
  )
  node=$name-faulty
}

# The rules of blkdebug for "operation errno sector after once", a line each.
write_rules() {
  local operation errno sector after once state=1 count event
  while read -r operation errno sector after once; do
    event=none
    if ((after)); then
      # A state for each request that is let through; it counts all requests of this kind.
      case $operation in
        flush) event=flush_to_disk ;;
        *) event=${operation}_aio ;;
      esac
      for ((count = 0; count < after; count++)); do
        printf '[set-state]\nevent = "%s"\nstate = "%s"\nnew_state = "%s"\n\n' \
          "$event" "$state" "$((state + 1))"
        state=$((state + 1))
      done
    fi
    printf '[inject-error]\nevent = "%s"\niotype = "%s"\nerrno = "%s"\nonce = "%s"\n' \
      "$event" "$operation" "$errno" "$once"
    ((after == 0)) || printf 'state = "%s"\n' "$state"
    [[ $sector == - ]] || printf 'sector = "%s"\n' "$sector"
    echo
  done
}
