#!/usr/bin/env bash
# Photographs the Tasks panel of a running notebook demo for the README, light and dark: docs/images/*.png. Notes are written
# and published for as many SECONDS_OF_LIFE as it is told (default 150), so that the graphs have something to show; the receiver
# of the webhooks is killed once, and then a queue is paused, so that something waits. Needs Chromium. Not part of the tests: look at what came out, then commit it.
. "$(dirname "$0")/lib.sh"

life="${SECONDS_OF_LIFE:-150}"
pages="http://127.0.0.1:${PORT:-9561}"
work="$(mktemp -d)"
chmod 755 "$work" # the private Postgres of root runs as postgres
demo=
end() {
	[ -z "$demo" ] || { kill "$demo" && wait "$demo"; } 2>/dev/null || true
	rm -rf "$work"
}
trap end EXIT

go build -C examples/notebook -o "$work/notebook" .
go build -o "$work/shots" ./internal/shots
go build -o "$work/postbus" ./cmd/postbus
"$work/notebook" demo --listen "${pages#http://}" --data "$work/data" >"$work/said" 2>&1 &
demo=$!

# said prints what the demo says of a thing: database, panel, ...
said() { awk -v name="$1" '$1 == name { print $2; exit }' "$work/said"; }
for _ in $(seq 240); do
	[ -n "$(said panel)" ] && break
	sleep 0.5
done
[ -n "$(said panel)" ] || { cat "$work/said" >&2; exit 1; }

call() { "$work/postbus" "$@" --database-url "$(said database)" -o json | tr -d ' \n'; }
field() { grep -o "\"$1\":\"[^\"]*\"" | head -1 | cut -d'"' -f4; }
send() { curl -sS -X "$1" -H 'Content-Type: application/json' -H 'Accept: application/json' "$pages$2" -d "$3"; }

titles=(Harvest 'Seed list' 'Fence repairs' 'Bee log' Orchard 'Rain gauge' 'Market day' 'Winter wood' 'The well' Compost 'Tool shed' Letters)
ids=()
for title in "${titles[@]}"; do
	id="$(send POST /notes "{\"title\":\"$title\",\"body\":\"What is to be done: $title\"}" | field id)"
	send POST "/notes/$id/publish" '{}' >"$work/answer"
	ids+=("$id")
done

began=$SECONDS
killed=
held=
while [ $((SECONDS - began)) -lt "$life" ]; do
	at=$((RANDOM % ${#ids[@]}))
	send PUT "/notes/${ids[$at]}" "{\"title\":\"${titles[$at]}\",\"body\":\"Changed at $SECONDS\"}" >"$work/answer"
	if [ -z "$killed" ] && [ $((SECONDS - began)) -gt $((life * 2 / 3)) ]; then
		killed=yes
		kill -9 "$(sed -nE 's/^receiver .*process ([0-9]+).*/\1/p' "$work/said" | head -1)"
	fi
	if [ -z "$held" ] && [ $((SECONDS - began)) -gt $((life * 5 / 6)) ]; then
		held=yes
		call tasks pause --queue index >"$work/answer"
	fi
	sleep "0.$((RANDOM % 8 + 1))"
done
sleep 15 # what failed is tried again

# The event to show is one that was tried more than once before it arrived.
arrived="$(call webhooks deliveries --states delivered --limit 200 | sed 's/{"id"/\n{"id"/g' | grep '"tries":[2-9]' | head -1)"
link="$(call accounts login-link --name demo | grep -o 'pbl_[A-Z0-9]*')"
"$work/shots" -panel "$pages/panel/" -link "$pages/panel/login?link=$link" -out docs/images -phone=false -width 1280 -height 800 -whole=false \
	-views "overview,jobs,event=events?event=$(field event_id <<<"$arrived"),endpoint=webhooks?endpoint=$(field endpoint_id <<<"$arrived")"
find docs/images -name '*.png' -size +200k -printf '%p has %s bytes: the limit is 200 KiB\n'
