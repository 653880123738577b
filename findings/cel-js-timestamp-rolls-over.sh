#!/usr/bin/env bash
# @marcbachmann/cel-js 8.0.0: timestamp() takes texts that the CEL specification does not allow, and changes days that do not exist.
# Seen: timestamp("2026-02-30T00:00:00Z") is 2 March 2026, without an error, and timestamp("Nov 27 2026 10:00:00"), which is not RFC 3339,
# is read in the time zone of the machine: the same condition gives another answer on a server in another zone.
# Expected from the specification: an error for both.
# Matters to whoever lets people write conditions about dates: a mistyped date decides wrongly instead of failing. Check the text first.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-save --no-audit --no-fund --silent @marcbachmann/cel-js@8.0.0
cat > run.mjs <<'JS'
import { Environment } from '@marcbachmann/cel-js'
const valueOf = (text) => {
  try {
    return new Date(Number(new Environment().parse(`timestamp("${text}")`)())).toISOString()
  } catch (error) {
    return `error: ${error.message}`
  }
}
for (const text of ['2026-02-30T00:00:00Z', 'Nov 27 2026 10:00:00']) console.log(`${text} -> ${valueOf(text)}`)
JS
echo "node $(node -v), @marcbachmann/cel-js $(node -p "require('./node_modules/@marcbachmann/cel-js/package.json').version" 2>/dev/null || echo 8.0.0)"
utc=$(TZ=UTC node run.mjs)
berlin=$(TZ=Europe/Berlin node run.mjs)
printf 'TZ=UTC\n%s\nTZ=Europe/Berlin\n%s\n' "$utc" "$berlin"
grep -qx '2026-02-30T00:00:00Z -> 2026-03-02T00:00:00.000Z' <<<"$utc"
grep -qx 'Nov 27 2026 10:00:00 -> 2026-11-27T10:00:00.000Z' <<<"$utc"
grep -qx 'Nov 27 2026 10:00:00 -> 2026-11-27T09:00:00.000Z' <<<"$berlin"
