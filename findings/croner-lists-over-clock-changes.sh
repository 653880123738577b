#!/usr/bin/env bash
# croner 11.0.1 with a time zone: what a run in the hour that clocks skip or repeat becomes depends on the form of the expression.
# Seen in Europe/Berlin. Spring (02:00 to 03:00 does not exist on 2026-03-29): `30 2 * * *` runs once, at 03:00 local time, but the lists and
# steps `0,30 2`, `*/30 2` and `15 2,14` lose the runs of that hour without a sign. Autumn (02:00 to 03:00 exists twice on 2026-10-25):
# `30 2` runs once, `30 2,3` runs 02:30 twice.
# Matters to whoever offers local times for jobs: two expressions that mean the same to their author behave differently twice a year.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --no-save --no-audit --no-fund --silent croner@11.0.1
cat > run.mjs <<'JS'
import { Cron } from 'croner'
const runsOf = (expression, from, to) => {
  const cron = new Cron(expression, { timezone: 'Europe/Berlin', paused: true })
  const found = []
  for (let at = cron.nextRun(new Date(from)); at && at < new Date(to); at = cron.nextRun(at)) found.push(at.toISOString().slice(0, 16))
  return found.join(' ') || 'none'
}
// 28 March 23:00 UTC is midnight of 29 March in Berlin.
for (const expression of ['30 2 * * *', '0,30 2 * * *', '*/30 2 * * *', '15 2,14 * * *'])
  console.log(`spring ${expression} : ${runsOf(expression, '2026-03-28T23:00:00Z', '2026-03-29T10:00:00Z')}`)
for (const expression of ['30 2 * * *', '30 2,3 * * *'])
  console.log(`autumn ${expression} : ${runsOf(expression, '2026-10-24T22:00:00Z', '2026-10-25T06:00:00Z')}`)
JS
echo "node $(node -v), croner 11.0.1"
seen=$(node run.mjs)
echo "$seen"
diff <(echo "$seen") - <<'EXPECTED'
spring 30 2 * * * : 2026-03-29T01:00
spring 0,30 2 * * * : none
spring */30 2 * * * : none
spring 15 2,14 * * * : none
autumn 30 2 * * * : 2026-10-25T00:30
autumn 30 2,3 * * * : 2026-10-25T00:30 2026-10-25T01:30 2026-10-25T02:30
EXPECTED
