#!/usr/bin/env bash
# Searches a folder of logs for secrets, and is red where there is one: webhooks' signing secrets and sealing keys, tokens,
# passwords in addresses, hashes of passwords, credentials of requests, and the canaries that tests use in their places. It
# first shows that each pattern finds what it is for. make test runs it on the logs of the whole suite.
. "$(dirname "$0")/lib.sh"

# Each line: a name, the pattern, a line that it must find.
patterns() {
	cat <<'LINES'
signing secret	whs(ec|k)_[A-Za-z0-9+/=]{24,}	secret=whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw
token	pb_[a-z0-9]{8}_[0-9a-f]{32,}	token=pb_3nuwqzmx_357ba39d36564dc93c300f6923f4010c
password in an address	postgres(ql)?://[^:@/? ]*:[^@( ][^@ ]*@	url=postgres://me:hunter2@db/app
password of an address	(^|[?& "])(ssl)?password=[^( &"]	dsn="host=db password=hunter2"
sealing key	(^|[ ="'\\[,])[a-z0-9_-]{1,32}:[A-Za-z0-9+/]{43}=	keys=k1:MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
hash of a password	\$argon2(id|i|d)\$	hash=$argon2id$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA
credential	[Bb]earer [A-Za-z0-9._~+/-]{16,}	authorization="Bearer 0123456789abcdef0123"
canary	s3cret|c2VjcmV0|hunter2|correct horse	error="password hunter2"
LINES
}

red() {
	local name pattern sample
	while IFS=$'\t' read -r name pattern sample; do
		if ! grep -qE -e "$pattern" <<<"$sample"; then
			echo "secrets: the pattern of \"$name\" does not find: $sample" >&2
			return 0
		fi
		if grep -rnE -m 3 -e "$pattern" -- "$1" >&2; then
			echo "secrets: the logs hold a secret ($name); the lines are above" >&2
			return 0
		fi
	done < <(patterns)
	return 1
}

dir="${1:?usage: scripts/secrets.sh FOLDER}"
if [ -z "$(find "$dir" -type f -size +0c -print -quit)" ]; then
	echo "secrets: there are no logs in $dir: nothing was searched" >&2
	exit 1
fi
if red "$dir"; then
	exit 1
fi
echo "secrets: none in $(find "$dir" -type f | wc -l) logs, $(cat "$dir"/* | wc -l) lines"
