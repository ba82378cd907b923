# What checks of a running product are made of (tests/demo, tests/e2e). Each question is asked of the API server with kubectl.
# A caller sets WAIT (seconds that a condition may take) and `state` (a folder of its own).

checks=0
failed=()

step() { printf '\n== %s  [%d s]\n' "$*" $SECONDS; }

# show COMMAND...: as at a keyboard.
show() { printf '$ %s\n' "$*"; "$@" 2>&1; }

# check WHAT COMMAND...: counts, and says whether it holds.
check() {
  local what=$1; shift
  checks=$((checks + 1))
  if "$@" >"$state/check.log" 2>&1; then
    printf '   ok: %s\n' "$what"
  else
    printf '   FAILED: %s\n' "$what"
    sed 's/^/      /' "$state/check.log" | tail -n 5
    failed+=("$what")
  fi
}

# eventually COMMAND...: until it holds, WAIT seconds at most.
eventually() {
  local deadline=$((SECONDS + WAIT))
  until "$@"; do
    [ $SECONDS -lt $deadline ] || { echo "not so after $WAIT s: $*"; return 1; }
    sleep 0.2
  done
}

# sum_up NAME: names the failed checks, then the last line. Fails when one failed or none was made.
sum_up() {
  if [ ${#failed[@]} -gt 0 ]; then
    printf '\n%d checks failed:\n' ${#failed[@]}
    printf '  - %s\n' "${failed[@]}"
  fi
  printf '%s: %d checks, %d ok (%d s)\n' "$1" "$checks" $((checks - ${#failed[@]})) $SECONDS
  [ "$checks" -gt 0 ] && [ ${#failed[@]} -eq 0 ]
}

# field OBJECT JSONPATH
field() { kubectl get "$1" -o "jsonpath={$2}" 2>/dev/null; }

condition_is() { # PIPELINE TYPE STATUS, judged for the generation that is stored
  local seen; seen=$(field "spipe/$1" ".status.conditions[?(@.type==\"$2\")].status")
  echo "$2=$seen"
  [ "$seen" = "$3" ] && [ "$(field "spipe/$1" .status.observedGeneration)" = "$(field "spipe/$1" .metadata.generation)" ]
}

reason_is() { # PIPELINE REASON
  local seen; seen=$(field "spipe/$1" '.status.conditions[?(@.type=="Ready")].reason')
  echo "Ready reason $seen"; [ "$seen" = "$2" ]
}

reports() { # PIPELINE WORD: the message of Ready has it
  local seen; seen=$(field "spipe/$1" '.status.conditions[?(@.type=="Ready")].message')
  echo "$seen"; grep -q "$2" <<<"$seen"
}

event_exists() { # PIPELINE REASON
  kubectl get events.events.k8s.io -o "jsonpath={range .items[*]}{.regarding.name} {.reason} {.note}{\"\n\"}{end}" | tee /dev/stderr | grep -q "^$1 $2"
}

names_all() { # TEXT PATTERN...
  local text=$1 pattern; shift
  for pattern in "$@"; do
    grep -qE "$pattern" <<<"$text" || { echo "not named: $pattern"; return 1; }
  done
}
