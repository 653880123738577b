import { expect, test } from 'vitest'
import { composedDaemon } from '../../support/composed-daemon.ts'

const head = `# Scheduled jobs
Made from the declarations of the features by \`npx vitest run test/daemon/app/scheduled-jobs.test.ts --update\`.
Times are cron expressions in UTC: minute, hour, day of the month, month, day of the week.
\`tenantry crons run <job>\` runs one now.
`

const headOfLoops = `
## Loops
What each daemon does again and again. *One daemon* means that one at a time does it, under a lease; when it stops or
dies, another takes over.
`

const pauseText = (ms: number) => (ms % 3_600_000 === 0 ? `${ms / 3_600_000} h` : `${ms / 1000} s`)

test('the page of scheduled jobs is made from the declarations', async () => {
  const composed = await composedDaemon()
  const crons = composed.crons.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const page = crons.map(({ key, expression, description }) => `\n- \`${key}\` (\`${expression}\`)\\\n  ${description}\n`)
  const loops = composed.loops.toSorted((a, b) => (a.name < b.name ? -1 : 1))
  const lines = loops.map(({ name, everyMs, lease }) => `- ${name}: every ${pauseText(everyMs)}${lease ? ', one daemon' : ''}\n`)
  await expect([head, ...page, headOfLoops, '\n', ...lines].join('')).toMatchFileSnapshot('../../../docs/scheduled-jobs.md')
})

// Keys and times of the service specification.
test.each([
  ['admin-password-cleanup', '0 4 * * *'],
  ['file-cleanup', '30 3 * * *'],
  ['tenant-box-drift-detection', '7 * * * *'],
  ['tenant-box-version-sync', '30 3 * * *'],
])('%s runs at %s', async (key, expression) => {
  expect((await composedDaemon()).crons.find((cron) => cron.key === key)?.expression).toBe(expression)
})
