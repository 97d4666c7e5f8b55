# Runs the Postgres given as arguments until it ends, or until stdin names the signal that stops it.
# stdin is a pipe whose other end only our parent holds: end of file means that the parent is gone.
# usage: sh -c SCRIPT supervisor SIGNAL_WHEN_ORPHANED DIR_TO_REMOVE_WHEN_ORPHANED postgres ARGS...
orphaned=$1 remove=$2
shift 2
exec 3<&0 </dev/null
trap '' HUP INT TERM
(
	trap - HUP INT TERM
	exec "$@" 3<&-
) &
server=$!
(
	trap - TERM # until there is an order, the end of the server ends this watch
	if read -r signal <&3; then
		kill -s "$signal" "$server"
		exit
	fi
	trap '' TERM
	kill -s "$orphaned" "$server"
	while kill -0 "$server" 2>/dev/null; do sleep 0.1; done
	[ -z "$remove" ] || rm -rf -- "$remove"
) &
watch=$!
exec 3<&-
wait "$server"
status=$?
kill -s TERM "$watch" 2>/dev/null
exit "$status"
