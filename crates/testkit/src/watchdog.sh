# Waits until the process $1, started at $2, is gone; then ends every process that is at home in the
# directory $3 and removes the directory. It is the only thing that survives a kill -9 of the test
# runner, so it must need nothing that the runner had.
watched=$1 started=$2 directory=$3

watched_runs() {
    read -r line < "/proc/$watched/stat" || return 1
    line=${line##*) }
    # shellcheck disable=SC2086
    set -- $line
    [ "$1" != Z ] && [ "$1" != X ] && [ "${20}" = "$started" ]
}

# Every process whose working directory is ours: PostgreSQL's children too, and those that were
# stopped or have lost their parent.
residents() {
    for process in /proc/[0-9]*; do
        case $(readlink "$process/cwd") in
            "$directory"/*) echo "${process#/proc/}" ;;
        esac
    done
}

while watched_runs; do sleep 0.2; done

# A paused process does not hear anything but CONT and KILL. QUIT lets PostgreSQL take its shared
# memory with it; no other process needs to be asked.
for resident in $(residents); do
    kill -CONT "$resident"
    if [ "$(cat "/proc/$resident/comm")" = postgres ]; then kill -QUIT "$resident"; else kill -KILL "$resident"; fi
done
rounds=0
while [ -n "$(residents)" ] && [ $rounds -lt 30 ]; do sleep 0.1; rounds=$((rounds + 1)); done
for resident in $(residents); do kill -KILL "$resident"; done

# What a postmaster that was killed has left in the kernel: the seventh line is "key id".
for file in "$directory"/*/data/postmaster.pid; do
    # shellcheck disable=SC2046
    set -- $(sed -n 7p "$file")
    [ -n "$2" ] && ipcrm -m "$2"
done
for folder in "$directory"/*; do mountpoint -q "$folder" && umount -l "$folder"; done
rounds=0
while [ -e "$directory" ] && [ $rounds -lt 20 ]; do rm -rf "$directory" || sleep 0.1; rounds=$((rounds + 1)); done
