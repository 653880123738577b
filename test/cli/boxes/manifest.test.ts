import { expect, test } from 'vitest'
import { type Answers, tenantry } from '../../support/command-line.ts'
import { aBoxRow, at } from '../../support/records.ts'

const versions = (synapse: string) => ({ synapse, postgres: '15.18', minio: 'RELEASE.2025-09-07T16-13-09Z', migrationsHead: '0001' })
const revision = (number: number, synapse: string) => ({
  revision: number,
  appliedAt: at('01:00:00'),
  appliedBy: 'anna',
  manifest: {
    images: { synapse: 'r/synapse' },
    tiers: { free: versions(synapse), pro: versions(synapse), enterprise: versions('1.150.0') },
  },
})
const revisions = 'GET /api/admin/v1/manifest/revisions'
const answers: Answers = {
  [revisions]: { revisions: [revision(7, '1.163.2'), revision(6, '1.157.1')], nextCursor: null },
  'POST /api/admin/v1/manifest': { revision: 8, changed: true, changes: [{ path: 'tiers.free.synapse', from: '1.163.2', to: '1.157.1' }] },
  'GET /admin/tenant-boxes/rollouts': { rollouts: [], nextCursor: null },
}

test('manifest history lists revisions with each version once', async () => {
  const { stdout } = await tenantry(['manifest', 'history'], { answers })
  expect(stdout).toMatch(/^REVISION +SYNAPSE/)
  expect(stdout).toMatch(/ 7 +1\.163\.2 1\.150\.0 /)
})

test('manifest show --revision shows an earlier one', async () => {
  const ran = await tenantry(['manifest', 'show', '--revision', '6'], {
    answers: { [revisions]: { revisions: [revision(6, '1.157.1')], nextCursor: null } },
  })
  expect(ran.asked.map(({ search }) => search)).toEqual(['?cursor=7&limit=1'])
  expect(ran.stdout).toContain('1.157.1')
  const gone = await tenantry(['manifest', 'show', '--revision', '5'], {
    answers: { [revisions]: { revisions: [revision(4, '1')], nextCursor: null } },
  })
  expect([gone.exit, gone.stderr.includes('manifest revision 5 does not exist')]).toEqual([3, true])
})

test('manifest show lists gates with their limits and query', async () => {
  const gates = { errors: { query: 'sum(errors)\u001b[2J', atMost: 0.5, for: '10m' }, boxes: { query: 'sum(up)', atLeast: 3 } }
  const { manifest, ...others } = revision(6, '1.157.1')
  const shown = { [revisions]: { revisions: [{ ...others, manifest: { ...manifest, gates } }], nextCursor: null } }
  const { stdout } = await tenantry(['manifest', 'show', '--revision', '6'], { answers: shown })
  expect(stdout).toMatch(/^gates +errors: at most 0\.5 for 10m: sum\(errors\)\ufffd\[2J\n +boxes: at least 3: sum\(up\)$/m)
})

test('manifest rollback applies the content of that revision again', async () => {
  const earlier = { ...answers, [revisions]: { revisions: [revision(6, '1.157.1')], nextCursor: null } }
  const ran = await tenantry(['manifest', 'rollback', '6', '--yes'], { answers: earlier })
  expect(ran.asked.find(({ method }) => method === 'POST')?.body).toEqual({ manifest: revision(6, '1.157.1').manifest })
  expect(ran.stdout).toContain('Revision 8 applied')
  const wrong = await tenantry(['manifest', 'rollback', 'newest'], { answers })
  expect([wrong.exit, wrong.asked]).toEqual([2, []])
})

test('boxes canary marks and unmarks a box', async () => {
  const change = 'PATCH /api/admin/v1/boxes/anna-schule'
  const ran = await tenantry(['boxes', 'canary', 'on', 'anna-schule'], {
    answers: { [change]: aBoxRow({ slug: 'anna-schule', canary: true }) },
  })
  expect([ran.asked[0]?.body, ran.stdout]).toEqual([{ canary: true }, 'anna-schule is a canary now: rollouts update it first.\n'])
  const swapped = await tenantry(['boxes', 'canary', 'anna-schule', 'off'])
  expect([swapped.exit, swapped.stderr.includes('tenantry boxes canary off anna-schule')]).toEqual([2, true])
})
