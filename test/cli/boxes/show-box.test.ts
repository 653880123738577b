import { expect, test } from 'vitest'
import { tenantry } from '../../support/command-line.ts'
import { aBoxDetail } from '../../support/records.ts'

const list = 'GET /api/admin/v1/boxes'
const scan = aBoxDetail({ slug: 'scan', boxId: 'box_scan' })
const scanner = aBoxDetail({ slug: 'scanner', boxId: 'box_scanner' })
const show = (slug: string, answers: Parameters<typeof tenantry>[1]) => tenantry(['boxes', 'show', slug, '--json'], answers)

test('a box with a reserved slug is read by its id from the list', async () => {
  const pages = [
    { boxes: [scanner], nextCursor: 'scanner' },
    { boxes: [scan], nextCursor: null },
  ]
  const ran = await show('scan', { answers: { [list]: pages, [`${list}/box_scan`]: scan } })
  expect(JSON.parse(ran.stdout)).toMatchObject({ slug: 'scan' })
  expect(ran.asked.map(({ path, search }) => [path, search])).toEqual([
    ['/api/admin/v1/boxes', '?slug=scan&limit=200'],
    ['/api/admin/v1/boxes', '?slug=scan&limit=200&cursor=scanner'],
    ['/api/admin/v1/boxes/box_scan', ''],
  ])
})

test.each([
  ['provisioning', { live: false, freshness: 'never', heldBy: 'maintenance' }],
  ['restoring', { fenced: true, heldBy: 'restore:cmd_1', maintenance: { by: 'anna', reason: 'disk', since: scan.createdAt } }],
] as const)('a box that is %s is so in the list and in its own view', async (status, change) => {
  const box = aBoxDetail({ slug: 'linden', status, ...change })
  const answers = { [list]: { boxes: [box], nextCursor: null }, [`${list}/linden`]: box }
  const [listed, shown] = [await tenantry(['boxes', 'list'], { answers }), await tenantry(['boxes', 'show', 'linden'], { answers })]
  expect(listed.stdout).toMatch(new RegExp(`linden .* ${status} `))
  expect(shown.stdout).toMatch(new RegExp(`^state +${status}$`, 'm'))
})

test('an unknown one is not found, and others are read directly', async () => {
  const none = await show('adopt', { answers: { [list]: { boxes: [], nextCursor: null } } })
  expect([none.exit, none.stderr]).toEqual([3, expect.stringContaining('box adopt does not exist')])
  const ran = await show('scanner', { answers: { [`${list}/scanner`]: scanner } })
  expect(ran.asked.map(({ path }) => path)).toEqual(['/api/admin/v1/boxes/scanner'])
})

test('a box shows its size and how it grew, and nothing before two days are known', async () => {
  const shown = async (growth: Parameters<typeof aBoxDetail>[0]) =>
    (await tenantry(['boxes', 'show', 'linden'], { answers: { [`${list}/linden`]: aBoxDetail({ slug: 'linden', ...growth }) } })).stdout
  expect(await shown({ growth: { bytes: 210e6, days: 30, totalBytes: 1.8e9 } })).toMatch(/^size +1\.8 GB, grew by 210 MB in 30 days$/m)
  expect(await shown({ growth: null })).not.toMatch(/^size/m)
})

test('a box names the volume of its former PostgreSQL, its size, and until when it is kept', async () => {
  const box = aBoxDetail({ slug: 'linden' })
  const former = { volume: 'box-linden_postgres', version: '15.18', bytes: 54.9e6, until: '2026-12-07T10:00:00.000Z' }
  const shown = async (formerDatabases: object[]) => {
    const report = { ...box.report, facts: { ...box.report?.facts, formerDatabases } }
    return (await tenantry(['boxes', 'show', 'linden'], { answers: { [`${list}/linden`]: { ...box, report } } })).stdout
  }
  expect(await shown([former])).toMatch(/^former database +PostgreSQL 15\.18, 54\.9 MB, volume box-linden_postgres, kept until 2026-12-07/m)
  expect(await shown([])).not.toContain('former database')
})
