#!/usr/bin/env bash
# A Postbus worker in shell, with nothing but psql. It prints a label for each order. Copy it, and put your work in the place of
# print_label.
#
#     DATABASE_URL=postgres://... ./worker.sh labels
#
# Start as many as you like, anywhere: no job is in two workers' hands at once. The names of kinds are its arguments.
# The contract is in docs/work.md.
set -uo pipefail

worker="shell-$(hostname)-$$"    # the panel shows it
lease="${LEASE:-30}"             # seconds that a job is ours without a word from us
printer="${PRINTER:-labels.log}" # the world outside of the database
lost=PB001 asked_to_stop=PB002   # SQLSTATEs

# The work: print_label EVENT LINES JAM. It runs beside the loop that extends the lease, and is killed where the job is not ours any
# more. Status 0 is success, 65 says that no further attempt would help, any other is a failed attempt, which comes back after a pause.
print_label() {
	local event="$1" lines="$2" jam="$3"
	[ "$lines" -ge 1 ] || { echo "an order without lines"; return 65; }
	[ "$jam" = no ] || { echo "paper jam"; return 1; }
	for ((line = 0; line < lines; line++)); do sleep 0.02; done # a long program of yours: exec it, so that it is what is killed

	# What is done outside of the database cannot be undone by it. A worker that dies after this line and before the commit does it
	# again: the same event id is printed twice, and whoever reads the labels can tell by it. See docs/work.md.
	echo "$event" >>"$printer"
}

# One psql runs all along: sql STATEMENT puts what it answers into $rows, its SQLSTATE into $state, and fails unless that is 00000.
coproc db { exec psql "$DATABASE_URL" -XqAt -F ' ' 2>&1; }
sql() {
	local line
	rows="" state=""
	printf '%s;\n\\echo end :SQLSTATE\n' "$1" >&"${db[1]}"
	while [ -z "$state" ]; do
		IFS= read -r line <&"${db[0]}" || exit 1 # psql is gone; what runs the worker starts it again
		case "$line" in
		"end "*) state="${line#end }" ;;
		"Asynchronous notification "*) news=yes ;;
		*) rows+="$line" ;;
		esac
	done
	[ "$state" = 00000 ]
}

# quote TEXT makes it a string of SQL.
quote() { printf "'%s'" "${1//\'/\'\'}"; }

claim() {
	sql "select id, job, kind, event->>'id', event->'data'->>'lines',
	    case when attempt = 1 and event->'data'->>'jam' = 'true' then 'yes' else 'no' end,
	    greatest(coalesce((event->'data'->>'not_before')::float8, 0) - extract(epoch from clock_timestamp()), 0)
	from postbus.claim_work($kinds, $(quote "$worker"), 1, make_interval(secs => $lease))"
}

# Our own row and the job's end are one transaction (one statement is one): both are there, or neither. Where the lease was lost
# meanwhile complete_work fails and takes the row with it. So the row is there exactly once, whatever dies when.
complete() {
	sql "with label as (insert into labels (kind, event_id, worker) values ($(quote "$kind"), $(quote "$event"), $(quote "$worker")))
	select from postbus.complete_work('$id', json_build_object('printed_by', $(quote "$worker")))"
}

# fail ERROR retry|discard|snooze [SECONDS]
fail() {
	sql "select from postbus.fail_work('$id', $(quote "$1"), '$2', make_interval(secs => ${3:-null}))" || [ "$state" = $lost ] || echo "$rows" >&2
}

# Waits for the work beside us, and fails once the job is not ours any more.
done_in_time() {
	local said=$SECONDS
	while kill -0 "$doing" 2>/dev/null; do
		if [ -n "$stopping" ]; then
			state=stopping
			return 1
		elif [ $(((SECONDS - said) * 3)) -ge "$lease" ]; then
			said=$SECONDS
			sql "select from postbus.extend_work('$id', make_interval(secs => $lease))" || return 1
		fi
		sleep 0.03
	done
}

work() {
	id="$1" job="$2" kind="$3" event="$4"
	if [ "$7" != 0 ]; then
		fail "" snooze "$7" # it is too early; come back after so many seconds. Spends no attempt
		return
	fi
	local status=0
	print_label "$event" "$5" "$6" >"$said_file" &
	doing=$!
	if ! done_in_time; then
		kill "$doing" 2>/dev/null
		wait "$doing" 2>/dev/null
		status=1
	elif wait "$doing" || { status=$?; false; }; then
		complete && return
		status=1 # $state says why
	else
		state=""
	fi
	case "$state,$status" in
	$lost,*) echo "job $job: the lease is lost, somebody else has it now" >&2 ;;
	$asked_to_stop,*) fail "asked to stop" discard ;; # Postbus makes it cancelled
	stopping,*) fail "" snooze 0 ;;                   # another worker shall have the job
	,65) fail "$(cat "$said_file")" discard ;;
	*) fail "status $status: $(cat "$said_file") $rows" retry ;;
	esac
}

kinds="array[" comma=""
for name in "$@"; do kinds+="$comma$(quote "$name")" comma=","; done
kinds+="]"
stopping="" news="" doing=""
trap 'stopping=yes' TERM INT
said_file="$(mktemp)"
trap 'rm -f "$said_file"' EXIT

sql "listen postbus_work" || { echo "$rows" >&2; exit 1; } # a kind's name whenever it has a new job
while [ -z "$stopping" ]; do
	news=""
	claim || { echo "$rows" >&2; exit 1; }
	if [ -n "$rows" ]; then
		# shellcheck disable=SC2086 # the columns, none of which has a space
		work $rows
		continue
	fi
	# Nobody tells of a job whose pause or whose worker's lease has ended: look once a second. Psql shows what it was told only after
	# its next statement, so it is given an empty one meanwhile.
	for _ in 1 2 3 4 5; do
		[ -z "$news$stopping" ] || break
		sleep 0.2
		sql ""
	done
done
