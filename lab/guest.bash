# One guest: QEMU started, heard, and ended whatever happens. Sourced by lab/run.

# Starts QEMU with the given arguments added; $directory has the image, $out is the guest's /out.
# Sets qemu, its process, and monitor, which takes QEMU's commands, and keeps the ends of its output.
start_guest() {
  local directory=$1 kernel=$2 out=$3
  shift 3
  mkfifo "$directory"/{told,stdout,stderr,monitor.in,monitor.out}
  # Opened both ways, it can be read before the guest is there.
  exec {told}<>"$directory/told" {monitor}<>"$directory/monitor.in"
  cat "$directory/stdout" &
  readers=("$!")
  cat "$directory/stderr" >&2 &
  readers+=("$!")
  local arguments=(
    -machine "pc,accel=tcg" -cpu max -smp 2 -m 1024
    -nodefaults -no-user-config -no-reboot -display none
    -kernel "$(echo "$kernel"/boot/vmlinuz-*)" -initrd "$directory/initramfs"
    -append "console=ttyS0 loglevel=4 panic=-1 rdinit=/init mitigations=off random.trust_cpu=on"
    -chardev "file,id=console,path=$directory/console" -serial chardev:console
    -chardev "pipe,id=monitor,path=$directory/monitor" -mon chardev=monitor,mode=readline
    -device virtio-serial-pci
    -virtfs "local,path=$out,mount_tag=out,security_model=none,multidevs=remap"
  )
  local port
  for port in told stdout stderr; do
    arguments+=(-chardev "file,id=$port,path=$directory/$port"
      -device "virtserialport,chardev=$port,name=$port")
  done
  qemu-system-x86_64 "${arguments[@]}" "$@" </dev/null >"$directory/qemu" 2>&1 &
  qemu=$!
}

# Ends the guest at once, as a power cut does.
cut_power() {
  kill -KILL "$qemu" 2>/dev/null || true
  wait "$qemu" 2>/dev/null || true
}

# Sets said to the guest's next line. Ends the run if there is none in time, or no guest any more.
hear_guest() {
  local directory=$1 deadline=$2 part alive=yes
  said=""
  until read -r -t 1 -u "$told" part; do
    # A second may end in the middle of a line.
    said+=$part
    # What it told before it ended is still to be read.
    [[ $alive == yes ]] || fail_with_console "$directory" "the guest ended by itself"
    kill -0 "$qemu" 2>/dev/null || alive=no
    ((SECONDS < deadline)) || run_out_of_time
  done
  said+=$part
}

fail_with_console() {
  tail -n 20 "$1/console" "$1/qemu" >&2 2>/dev/null || true
  fail "$2"
}

# Waits until the guest has switched off and all of its output is through.
end_guest() {
  local deadline=$1
  while kill -0 "$qemu" 2>/dev/null; do
    ((SECONDS < deadline)) || run_out_of_time
    # Nothing more is told: this waits.
    read -r -t 0.05 -u "$told" _ || true
  done
  wait "${readers[@]}" || true
}
