import { expect, test } from 'vitest'
import { tenantry } from '../../support/command-line.ts'

const description = 'Erase files 30 days after they or their space were deleted, and uploads that were not finished within 24 hours'
const cron = {
  ...{ jobKey: 'tenant-box-drift-detection', expression: '30 3 * * *', timeZone: 'UTC', nextRunAt: '2026-01-05T02:00:00.000Z' },
  ...{ description, lastRun: null },
}
const shown = async (columns: number) =>
  (
    await tenantry(['crons', 'list'], {
      answers: { 'GET /api/admin/crons': { crons: [cron, { ...cron, jobKey: 'b' }] } },
      columns,
      env: { NO_COLOR: '1' },
    })
  ).stdout

test.each([60, 80, 100])('the description is never cut on %i columns', async (columns) => {
  const text = await shown(columns)
  expect(text.replaceAll(/\n +/g, ' ')).toContain(`${description}\nb `)
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(columns)
})

test('on a wide terminal the description is beside the job', async () => {
  const [head, first] = (await shown(200)).split('\n')
  expect([head?.endsWith('DESCRIPTION'), first?.endsWith(`  ${description}`)]).toEqual([true, true])
})
