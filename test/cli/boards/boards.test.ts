import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { bundleOf } from '../../../src/core/boards/index.ts'
import { sketch } from '../../core/boards/sketch.ts'
import { problemAnswer, temporaryFolder, tenantry } from '../../support/command-line.ts'
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
  const missing = 'a.json is neither JSON nor YAML: a bracket, comma, colon or quotation mark is missing or wrong near line 1, column 17 ['
  expect(await refusal('{"elements": [] ')).toContain(missing)
  expect(await refusal('{"a": 1, "a": 2}')).toContain('a.json is neither JSON nor YAML: a name is used twice near line 1, column 10 [')
  expect(await refusal('{"elements": [],\n"edges": [\n]')).toMatch(/wrong near line 3, column 2 /)
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
  const answers = { [`POST ${base}/brd_1/check`]: { name: 'Crisis', version: 1, findings: [] } }
  const ran = await tenantry(['boards', 'check', 'brd_1', ...ofTenant], { answers })
  expect([ran.exit, ran.stdout]).toEqual([0, 'Crisis: OK.\n'])
})

test('on a narrow terminal the reason of a finding and its fix go below the row, uncut', async () => {
  const ran = await tenantry(['boards', 'check', await file('crisis.json', deadlocked), '--no-color'], { columns: 80 })
  expect(ran.stdout).not.toMatch(/…/)
  expect(ran.stdout).toMatch(/^SEVERITY +CODE +ELEMENT\nerror +DEADLOCK +j1\n {4}parallel_join "j1" waits for a branch that never comes\. /)
  for (const line of ran.stdout.split('\n').slice(0, 7)) expect(line.length).toBeLessThanOrEqual(80)
  const chosen = await tenantry(['boards', 'check', await file('a.json', deadlocked), '--columns', 'reason', '--no-color'], { columns: 80 })
  expect(chosen.stdout).toMatch(/^REASON\nparallel_join /)
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

test('a refused import names the option, and a file that is no export is not sent', async () => {
  const bundle = await file('bundle.json', bundleOf({ name: 'Crisis', description: '', definition: sketch('s > e') }))
  const details = [
    { path: 'bindings.roles.head', reason: 'is not a parameter of the bundle' },
    { path: 'bundle.templateExport.template.name', reason: 'must have at most 200 characters' },
  ]
  const message = 'bindings.roles.head: is not a parameter of the bundle (and 1 more)'
  const answers = { [`POST ${base}/import`]: problemAnswer(400, { code: 'VALIDATION', message, retryable: false, details }) }
  const ran = await tenantry(['boards', 'import', bundle, ...ofTenant, '--role', 'head=principal'], { answers })
  expect(ran.stderr).toMatch(/^error: --role head is not a parameter of the bundle; bundle\.templateExport\.template\.name must have/)
  const refusal = async (content: unknown) => tenantry(['boards', 'import', await file('a.json', content), ...ofTenant])
  const board = await refusal({ name: 'Crisis', definition: deadlocked })
  expect([board.exit, board.asked]).toEqual([2, []])
  expect(board.stderr).toContain('a.json is a board, not an export of one. fix: create it with POST /api/platform/v1/cascade-boards')
  expect((await refusal('[]')).stderr).toContain('a.json is not an export of a board. fix: pass a file that tenantry boards export')
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
