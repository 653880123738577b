import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { type Answers, problemAnswer, temporaryFolder, tenantry } from '../../support/command-line.ts'
import { aHost, aRollout, aRolloutDetail, rolloutId } from '../../support/records.ts'

const manifestFile = async (text: string) => {
  const file = join(await temporaryFolder(), 'manifest.yaml')
  await writeFile(file, text)
  return file
}
const changed: Answers = {
  'POST /api/admin/v1/manifest/diff': { revision: 3, changes: [{ path: 'tiers.free.synapse', from: '1.157.1', to: '1.163.2' }] },
  'POST /api/admin/v1/manifest': { revision: 4, changed: true, changes: [{ path: 'tiers.free.synapse', from: '1.157.1', to: '1.163.2' }] },
  'POST /api/admin/v1/hosts/host-1/revoke': aHost({ status: 'revoked' }),
  'GET /api/admin/v1/hosts/host-1': aHost(),
  [`GET /admin/tenant-boxes/rollouts/${rolloutId}`]: aRolloutDetail([]),
  [`POST /admin/tenant-boxes/rollouts/${rolloutId}/abort`]: aRollout({ status: 'failed' }),
  [`POST /admin/tenant-boxes/rollouts/${rolloutId}/rollback`]: aRollout({ status: 'rolled_back' }),
}

test.each([
  ['a login', ['login'], '--name'],
  ['a password', ['login', '--name', 'anna'], '--password-file'],
  ['a revocation', ['hosts', 'revoke', 'host-1', '--reason', 'stolen'], '--yes'],
  ['an abort', ['rollouts', 'abort', rolloutId], '--yes'],
  ['a rollback', ['rollouts', 'rollback', rolloutId, '--boxes', 'none', '--reason', 'bad'], '--yes'],
])('%s never prompts without a terminal: a usage error names the option', async (_, line, instead) => {
  const ran = await tenantry(line, { answers: changed })
  expect([ran.exit, ran.stdout, ran.asked.filter(({ method }) => method !== 'GET')]).toEqual([2, '', []])
  expect(ran.stderr).toContain('stdin is not a terminal')
  expect(ran.stderr).toContain(instead)
})

const because = ['--reason', 'because'] as const
test.each([
  ['/admin/tenant-boxes/rollouts/nope', ['rollouts', 'abort', 'nope']],
  ['/admin/tenant-boxes/rollouts/nope', ['rollouts', 'rollback', 'nope', '--boxes', 'none', ...because]],
  ['/admin/tenant-boxes/rollouts/nope', ['rollouts', 'rollback', 'nope', '--stop', ...because]],
  ['/api/admin/v1/hosts/nope', ['hosts', 'revoke', 'nope', ...because]],
  ['/api/admin/v1/boxes/nope', ['boxes', 'restart', 'nope', ...because]],
  ['/api/admin/v1/boxes/nope', ['boxes', 'remove', 'nope', ...because]],
  ['/api/admin/v1/boxes/nope', ['boxes', 'remove', 'nope', '--undo']],
  ['/api/admin/v1/boxes/nope', ['boxes', 'release', 'nope', ...because]],
  ['/api/admin/v1/boxes/nope', ['boxes', 'move', 'nope', '--confirm']],
  ['/api/admin/v1/boxes/nope', ['boxes', 'move', 'nope', '--back']],
  ['/api/admin/v1/boxes/nope', ['snapshots', 'abandon', 'nope', ...because]],
  ['/api/admin/v1/tenants/nope', ['tenants', 'suspend', 'nope', ...because]],
  ['/api/admin/v1/tenants/acme/users/nope', ['users', 'disable', 'acme', 'nope', ...because]],
  ['/api/admin/v1/tenants/acme/users/nope', ['users', 'reset-password', 'acme', 'nope']],
  ['/api/admin/v1/tenants/acme/users/nope', ['users', 'erase', 'acme', 'nope']],
  ['/api/admin/v1/tenants/acme/runs/nope', ['runs', 'cancel', 'nope', '--tenant', 'acme']],
  ['/api/admin/v1/modules/nope/upstream', ['modules', 'upstream', 'nope', '--rotate-secret']],
])('what does not exist is reported before a confirmation: GET %s by %j', async (path, line) => {
  const missing = problemAnswer(404, { code: 'NOT_FOUND', message: 'nope does not exist', retryable: false })
  const ran = await tenantry(line, { answers: { [`GET ${path}`]: missing } })
  expect([ran.exit, ran.stderr, ran.asked.map(({ method }) => method)]).toEqual([
    3,
    expect.stringContaining('nope does not exist'),
    ['GET'],
  ])
})

test.each([
  ['hosts', 'revoke', 'host-1', '--reason', 'stolen'],
  ['rollouts', 'abort', rolloutId],
  ['rollouts', 'rollback', rolloutId, '--boxes', 'none', '--reason', 'bad'],
])('%s %s needs no prompt with --yes', async (...line) => {
  expect((await tenantry([...line, '--yes'], { answers: changed })).exit).toBe(0)
})

test('manifest apply shows the diff and prompts; without a terminal it applies nothing', async () => {
  const file = await manifestFile('tiers: {}\n')
  const asking = await tenantry(['manifest', 'apply', file], { answers: changed })
  expect(asking.exit).toBe(2)
  expect(asking.stderr).toContain('synapse  free   1.157.1  1.163.2')
  expect(asking.asked.map(({ path }) => path)).toEqual(['/api/admin/v1/manifest/diff'])
  const ran = await tenantry(['manifest', 'apply', file, '--yes'], { answers: changed })
  expect([ran.exit, ran.asked[0]?.body]).toEqual([0, { manifest: { tiers: {} } }])
})

test('manifest apply warns of an active rollout, which keeps its own revision', async () => {
  const file = await manifestFile('tiers: {}\n')
  const { startedAt, finishedAt, ...active } = aRollout({ status: 'paused' })
  const rollouts = [
    { ...active, startedAt, finishedAt },
    { ...active, id: 'ro_0000000000000000000d', status: 'done', startedAt, finishedAt: startedAt },
    { ...active, id: 'ro_0000000000000000000q', status: 'queued', startedAt: null, finishedAt: null },
  ]
  const answers = { ...changed, 'GET /admin/tenant-boxes/rollouts': { rollouts, nextCursor: null } }
  const ran = await tenantry(['manifest', 'apply', file, '--yes'], { answers })
  expect([ran.exit, ran.stderr.match(/ro_\w+ is active/g)]).toEqual([0, [`${rolloutId} is active`]])
  expect(ran.stderr.replace(/\s+/g, ' ')).toContain('continues to revision 4, not to this one')
})

test('a manifest may come from stdin', async () => {
  const ran = await tenantry(['manifest', 'diff', '-'], { answers: changed, stdin: 'tiers: {free: {synapse: "1.163.2"}}' })
  expect(ran.stdout).toBe('ITEM     TIERS  CURRENT  NEW\nsynapse  free   1.157.1  1.163.2\n')
})

test('images too wide for one line go below each other, uncut', async () => {
  const [from, to] = ['registry.school.example/tenantry/synapse:v{version}', 'registry.school.example/tenantry/synapse-arm:v{version}']
  const answers = { 'POST /api/admin/v1/manifest/diff': { revision: 4, changes: [{ path: 'images.synapse', from, to }] } }
  const ran = await tenantry(['manifest', 'diff', '-'], { answers, stdin: 'tiers: {}', columns: 100 })
  expect(ran.stdout.replace(/\s+/g, ' ')).toContain(`image of synapse ${from} → ${to}`)
  expect(ran.stdout).not.toContain('…')
})

test.each([
  ['is not YAML', async () => manifestFile('tiers: {free: [}\n'), 'is not YAML'],
  ['is not there', async () => '/nowhere/manifest.yaml', 'cannot read /nowhere/manifest.yaml: it does not exist'],
])('a manifest that %s is refused before any request', async (_, file, says) => {
  const ran = await tenantry(['manifest', 'apply', await file(), '--yes'])
  expect([ran.exit, ran.asked]).toEqual([2, []])
  expect(ran.stderr).toContain(says)
})

test.each([
  ['a manifest', ['manifest', 'diff']],
  ['a board', ['boards', 'check']],
])('%s in Windows-1252 is refused with the line, before any request', async (_, line) => {
  const file = join(await temporaryFolder(), 'file.yaml')
  await writeFile(file, Buffer.from('name: a\nlabel: T\u00fcr\n', 'latin1'))
  const ran = await tenantry([...line, file], { answers: changed })
  expect([ran.exit, ran.asked]).toEqual([2, []])
  expect(ran.stderr).toContain(`${file}: line 2 is not UTF-8. fix: save it`)
})
