import { expect, test } from 'vitest'
import { composedDaemon } from '../../support/composed-daemon.ts'

const head = `# Scheduled jobs
Made from the declarations of the features by \`npx vitest run test/daemon/app/scheduled-jobs.test.ts --update\`.
Times are cron expressions in UTC: minute, hour, day of the month, month, day of the week.
\`tenantry crons run <job>\` runs one now.
`

test('the page of scheduled jobs is made from the declarations', async () => {
  const crons = (await composedDaemon()).crons.toSorted((a, b) => (a.key < b.key ? -1 : 1))
  const page = crons.map(({ key, expression, description }) => `\n- \`${key}\` (\`${expression}\`)\\\n  ${description}\n`)
  await expect(head + page.join('')).toMatchFileSnapshot('../../../docs/scheduled-jobs.md')
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
