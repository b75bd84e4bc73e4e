# What a topology declares as arguments for QEMU. Sourced by lab/run. Makes no image: lab/disks.bash
# does.

# What add_machine sets.
qemu_arguments=()
declare -A controller_exists=()
# What is taken off a bus to pull a disk, by the disk's name; nothing where that cannot be.
declare -A disk_unplugged=()

# All limits and disks; images lie, or are made, below that directory.
add_machine() {
  local images=$1 file=$2 name
  for name in "${limit_names[@]}"; do
    add_throttle "limit-$name" "${limit_rate[$name]}"
  done
  for name in "${disk_names[@]}"; do
    place="$file, disk $name"
    add_disk "$images" "$name"
  done
}

# A throttle of this name and rate.
add_throttle() {
  local id=$1 rates
  read -ra rates <<<"$2"
  if ((${#rates[@]} == 2)); then
    qemu_arguments+=(-object
      "throttle-group,id=$id,x-bps-read=${rates[0]},x-bps-write=${rates[1]}")
  else
    qemu_arguments+=(-object "throttle-group,id=$id,x-bps-total=${rates[0]}")
  fi
}

# One disk, from its medium up: faults, limits from the outermost in, its own rate, the device.
add_disk() {
  local images=$1 name=$2 node
  add_medium "$images" "$name" "${disk_size[$name]}" "${disk_medium[$name]}"
  add_faults "$images" "$name"
  add_limits "$name" "${disk_parent[$name]}"
  if [[ -n ${disk_rate[$name]} ]]; then
    add_throttle "disk-$name" "${disk_rate[$name]}"
    add_filter "$name" "disk-$name"
  fi
  add_device "$name" "${disk_place[$name]}"
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
  local name=$1 driver=${2%%:*} controller=0 port=0 device unplugged=device-$1
  if [[ $2 == *:* ]]; then
    [[ $2 =~ :([0-9])\.([0-9]{1,2})$ ]] || refuse "'$2' is no place, as ide:0.1"
    controller=${BASH_REMATCH[1]} port=${BASH_REMATCH[2]}
  fi
  case $driver in
    ide)
      device="ide-hd,bus=ide.$controller,unit=$port" && driver_modules+=(ata_piix sd_mod)
      unplugged=
      ;;
    ahci)
      add_controller "ahci$controller" ich9-ahci
      device="ide-hd,bus=ahci$controller.$port" && driver_modules+=(ahci sd_mod)
      unplugged=ahci$controller
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
  [[ -z ${disk_block[$name]} ]] || device+=,physical_block_size=${disk_block[$name]}
  # A device's id must not be the name of a property of its own, as drive is.
  qemu_arguments+=(-device "$device,drive=$node,serial=$name,id=device-$name")
  disk_unplugged[$name]=$unplugged
}

add_controller() {
  [[ ! -v controller_exists[$1] ]] || return 0
  controller_exists[$1]=1
  qemu_arguments+=(-device "$2,id=$1")
}
