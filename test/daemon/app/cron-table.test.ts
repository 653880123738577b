import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { composedDaemon } from '../../support/composed-daemon.ts'

// Key and time of the first four are of the service specification, the others of the design. Times are UTC.
const table: Readonly<Record<string, readonly [expression: string, docs: string, description: string]>> = {
  'admin-password-cleanup': ['0 4 * * *', '04:00', 'Delete expired one-time initial passwords, API tokens, sessions and enrolment tokens'],
  'file-cleanup': [
    '30 3 * * *',
    '03:30',
    'Erase files 30 days after they or their space were deleted, and uploads that were not finished within 24 hours',
  ],
  'tenant-box-drift-detection': [
    '7 * * * *',
    'minute 7 of every hour',
    'Compare the reported versions of every box with the manifest and store the drift',
  ],
  'tenant-box-version-sync': ['30 3 * * *', '03:30', 'Read the running versions of all boxes from their agents'],
  'snapshot-daily': [
    '15 1 * * *',
    '01:15',
    'Queue a snapshot of every managed box whose newest is older than 20 h, one at a time per host',
  ],
  'snapshot-prune': ['45 4 * * 6', 'Saturday 04:45', 'Delete expired snapshots and free their space'],
  'snapshot-check': ['45 4 * * 0', 'Sunday 04:45', 'Check every repository, and read all data of the least recently read quarter'],
  'snapshot-drill': ['30 18-23 * * *', '18:30 to 23:30, hourly', 'Test-restore snapshots in isolation: every box within four weeks'],
  'space-reconcile': ['20 2 * * *', '02:20', 'Sync the rooms of all spaces to the chat servers, and record members who left in the chat'],
  'box-removal': ['20 4 * * *', '04:20', 'Erase data of removed boxes and old copies of moved boxes past retention'],
  'module-data-cleanup': ['0 3 * * *', '03:00', 'Delete data of modules whose retention has ended'],
  'billing-usage-aggregation': ['0 2 1 * *', 'day 1 of the month, 02:00', 'Bill paid modules of the last month'],
  'marketplace-monthly-billing': ['30 6 1 * *', 'day 1 of the month, 06:30', 'Report active users of the last month'],
  'billing-developer-payouts': ['0 4 3 * *', 'day 3 of the month, 04:00', 'Make statements of developers and transfer them'],
  'billing-period-end-warning': ['0 9 24 * *', 'day 24 of the month, 09:00', 'Mail to tenants what they will be charged'],
  'billing-reconcile': ['30 5 * * *', '05:30', 'Name what differs from the payment provider'],
  housekeeping: [
    '50 3 * * *',
    '03:50',
    'Delete commands and leases older than 30 days, closed alerts and events older than 90 days, and evidence older than two years',
  ],
}

const declared = async () =>
  Object.fromEntries((await composedDaemon()).crons.map(({ key, expression, description }) => [key, [expression, description]]))

test('every scheduled job has its key, its time and its description', async () => {
  expect(await declared()).toEqual(
    Object.fromEntries(Object.entries(table).map(([key, [expression, , says]]) => [key, [expression, says]])),
  )
})

test('the page for operators names every job with its time', () => {
  const rows = [...readFileSync('docs/operating.md', 'utf8').matchAll(/^\| `([a-z-]+)` \| ([^|]+) \| [^|]+ \|$/gm)]
  const documented = Object.fromEntries(rows.map(([, key, when]) => [key, when]))
  expect(documented).toMatchObject(Object.fromEntries(Object.entries(table).map(([key, [, when]]) => [key, when])))
})
