import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundleOf } from '../../../src/core/boards/index.ts'
import { sketch } from '../../core/boards/sketch.ts'
import { temporaryFolder, tenantry } from '../../support/command-line.ts'
import { at } from '../../support/records.ts'

const base = '/api/admin/v1/tenants/anna-schule/boards'
const summary = {
  ...{ id: 'brd_1', name: 'Crisis\u001b[31m', description: '', spaceId: null, status: 'active', version: 2, publishedVersion: 1 },
  ...{ createdAt: at('00:00:00'), updatedAt: at('00:00:00') },
}
const deadlocked = sketch('s > d1; d1 -1 > 2-> t1 > j1; d1 -else-> t2 > j1; j1 > e', { t1: { assignedRole: 'pilot' } })
const ofTenant = ['--tenant', 'anna-schule']

async function file(name: string, content: unknown): Promise<string> {
  const path = join(await temporaryFolder(), name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

test('list and show print boards and their structure, without control characters', async () => {
  const listed = await tenantry(['boards', 'list', ...ofTenant, '--status', 'active'], {
    answers: { [`GET ${base}`]: { boards: [summary], nextCursor: null } },
  })
  expect(listed.asked[0]?.search).toBe('?status=active')
  expect(listed.stdout).toMatch(/brd_1 +Crisis.* +active +2 +1 +2 h ago/)
  expect(listed.stdout).not.toContain('\u001b[31m')
  const structure = {
    ...summary,
    columns: [{ id: 'c', name: 'First', sortOrder: 0 }],
    elements: [
      { id: 'alarm', kind: 'form', label: 'Alarm', columnId: 'c' },
      { id: 'e', kind: 'end', label: 'End', columnId: null },
    ],
    edges: [{ source: 'alarm', target: 'e', condition: 'timed_out' }],
  }
  const shown = await tenantry(['boards', 'show', 'brd_1', ...ofTenant], { answers: { [`GET ${base}/brd_1`]: structure } })
  expect(shown.stdout).toMatch(/alarm +form +Alarm +First +e \(timed_out\)/)
})

test.each([
  ['a bundle', bundleOf({ name: 'Crisis', description: '', definition: deadlocked })],
  ['a board', { name: 'Crisis', definition: deadlocked }],
  ['a definition', deadlocked],
])('check of %s in a file works without a daemon and prints the path to the deadlock', async (_, content) => {
  const ran = await tenantry(['boards', 'check', await file('crisis.json', content)])
  expect([ran.exit, ran.asked]).toEqual([5, []])
  expect(ran.stdout).toMatch(/error +DEADLOCK +j1/)
  expect(ran.stdout).toMatch(/Path to DEADLOCK at j1:\n +s > d1 > t[12].* > j1/)
  expect(ran.stdout).not.toContain('ROLE_UNKNOWN')
})

test('check of a sound file ends well, of one that is no board with the reason', async () => {
  const sound = await tenantry(['boards', 'check', await file('a.json', sketch('s > t1 > e'))])
  expect([sound.exit, sound.stdout]).toEqual([0, expect.stringContaining('OK.')])
  const wrong = await tenantry(['boards', 'check', await file('a.json', { elements: [{ id: 'x', kind: 'robot' }], edges: [] })])
  expect([wrong.exit, wrong.stderr]).toEqual([2, expect.stringContaining('a.json: x (element 1): kind must be one of')])
  expect((await tenantry(['boards', 'check', await file('a.yaml', 'a: [')])).stderr).toContain('is neither JSON nor YAML')
  const refusal = async (content: unknown) => (await tenantry(['boards', 'check', await file('a.json', content)])).stderr
  const late = { id: 't1', kind: 'task', label: 'T', config: { assignedRole: 'a', dueAt: 'soon' } }
  expect(await refusal({ definition: { elements: [late], edges: [] } })).toContain(
    'a.json: t1 (element 1): dueAt must be a duration such as',
  )
  const edge = { id: 'e1', source: 'a', target: 'b', condition: { type: 'never' } }
  expect(await refusal({ elements: [], edges: [edge] })).toContain('a.json: edge 1 (a to b): condition.type must be one of')
  const bundle = bundleOf({ name: 'Crisis', description: '', definition: sketch('s > e') })
  const { components } = bundle.templateExport
  const repeated = { templateExport: { ...bundle.templateExport, components: [...components, components[0]] } }
  expect(await refusal(repeated)).toContain('a.json: s (component 3): _localId the id s is used more than once')
  expect(await refusal('')).toMatch(/a\.json is empty \[USAGE\]/)
  expect(await refusal('[]')).toContain('a.json: the content must be an object')
  expect(await refusal({ name: '', definition: sketch('s > e') })).toContain('a.json: name must have at least 1 character')
  expect(await refusal({ name: 'x'.repeat(5_000), definition: sketch('s > e') })).toContain('a.json: name must have at most 200')
})

test('a file that cannot be read is named with the reason', async () => {
  const refusal = async (name: string) => (await tenantry(['boards', 'check', name])).stderr
  expect(await refusal('/nowhere.json')).toContain('cannot read /nowhere.json: it does not exist')
  expect(await refusal('')).toContain('cannot read "": it does not exist')
  expect(await refusal('/tmp')).toContain('cannot read /tmp: it is a folder')
  expect(await refusal('brd_2x7e')).toContain('it does not exist. fix: for a stored board add --tenant <slug>')
  const out = await tenantry(['boards', 'export', 'brd_1', ...ofTenant, '--out', '/nowhere/b.json'])
  expect([out.exit, out.asked, out.stderr]).toEqual([2, [], expect.stringContaining('the folder /nowhere does not exist')])
})

test('check of a board of a tenant asks the daemon', async () => {
  const answers = { [`POST ${base}/brd_1/check`]: { version: 1, findings: [] } }
  const ran = await tenantry(['boards', 'check', 'brd_1', ...ofTenant], { answers })
  expect([ran.exit, ran.stdout]).toEqual([0, 'brd_1: OK.\n'])
})

test('export writes the bundle to a file, import sends it with bindings', async () => {
  const bundle = bundleOf({ name: 'Crisis', description: '', definition: sketch('s > e') })
  const out = join(await temporaryFolder(), 'crisis.json')
  await tenantry(['boards', 'export', 'brd_1', ...ofTenant, '--out', out], { answers: { [`GET ${base}/brd_1/export`]: bundle } })
  expect(JSON.parse(await readFile(out, 'utf8'))).toEqual(bundle)
  const line = ['boards', 'import', out, ...ofTenant, '--role', 'head=teacher', '--room', 'staff=!a:b']
  const ran = await tenantry(line, { answers: { [`POST ${base}/import`]: { ...summary, status: 'draft' } } })
  expect(ran.asked[0]?.body).toEqual({ bundle, bindings: { roles: { head: 'teacher' }, rooms: { staff: '!a:b' } } })
  expect(ran.stdout).toContain('tenantry boards check brd_1 --tenant anna-schule')
  expect((await tenantry([...line.slice(0, 5), '--role', 'teacher'])).stderr).toContain('has no name')
})

test('simulate plays a file without a daemon and prints each step', async () => {
  const board = await file('a.json', sketch('s > t1 > c1 > e', { t1: { assignedRole: 'teacher', dueAt: 'PT4H' } }))
  const script = await file('answers.yaml', 'startAt: 2026-11-23T08:00:00Z\nanswers:\n  t1: [{ after: PT5H }]\n  c1: [{}]\n')
  const ran = await tenantry(['boards', 'simulate', board, '--script', script])
  expect([ran.exit, ran.asked]).toEqual([0, []])
  expect(ran.stdout).toMatch(/2026-11-23 12:00:00 +due +t1 .*escalated/)
  expect(ran.stdout).toMatch(/2026-11-23 13:00:00 +approve +c1 .*c1 approved/)
  expect(ran.stdout).toContain('completed at 2026-11-23 13:00:00 UTC')
  const waiting = await tenantry(['boards', 'simulate', board])
  expect([waiting.exit, waiting.stdout]).toEqual([1, expect.stringContaining('Waits at: t1')])
})
