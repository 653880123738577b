import { expect, test } from 'vitest'
import { chooseFence, type KnownBox, type PlanInput, planRollout, preflightBox } from '../../../src/core/rollouts/index.ts'
import { aManifest, aReport } from '../../support/boxes.ts'
import { aKnownBox } from '../../support/rollouts.ts'
import { synapseSchemas } from '../../support/synapse-schemas.ts'

// Updates to another major version of PostgreSQL.

const now = '2026-01-05T02:10:00.000Z'
const dayMs = 86_400_000
const image = 'registry.example/postgres:18.1'
const digest = `sha256:${'1'.repeat(64)}`
const before = (ms: number) => new Date(Date.parse(now) - ms).toISOString()
const rehearsal = { at: before(dayMs), ok: true, image, digest, downtimeMs: 120_000 }
const hotCopy = {
  ...{ major: 17, walLevel: 'replica', freeSlots: 10, fullPageWrites: true, isStandby: false, isSuperuser: true },
  ...{ checksumFailures: 0, tablespaces: 0 },
}

type Facts = NonNullable<NonNullable<KnownBox['report']>['facts']>
type Change = Partial<KnownBox> & { facts?: Partial<Facts> }

const unknown: Facts = {
  ...{ schemaVersion: null, compatVersion: null, backgroundUpdates: null, collation: null, libc: null, mediaBytes: null },
  ...{ objectBytes: null, freeDiskBytes: null, otherServices: null, wouldRecreate: null, composeChanged: null },
  ...{ notRestorable: null, scaledServices: null },
}

function aBox({ facts = {}, ...change }: Change = {}): KnownBox {
  const all = { ...unknown, hotCopy, freeDiskBytes: 1e12, formerDatabases: [], ...facts }
  return aKnownBox('acme', { databaseBytes: 1e9, rehearsal, report: { ...aReport('acme'), facts: all }, ...change })
}

const plan = (box: KnownBox, changes: Partial<PlanInput> = {}) =>
  planRollout({
    ...{ rolloutId: 'ro_x', kind: 'staged', manifest: aManifest({ postgres: '18.1' }), manifestRevision: 2, boxes: [box] },
    ...{ targetSlugs: null, history: [], limits: { parallel: 3, perHost: 1 }, now, staleAfterMs: 26 * 3_600_000 },
    probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 },
    fences: { free: 'auto', pro: 'auto', enterprise: 'auto' },
    snapshots: { free: 'before', pro: 'before', enterprise: 'before' },
    ...{ schemas: synapseSchemas, fenceMaxMs: 15 * 60_000, rehearsalMaxAgeMs: 14 * dayMs, allowLongFence: false },
    ...changes,
  })
const found = (box: KnownBox, changes: Partial<PlanInput> = {}) =>
  plan(box, changes).boxes[0]?.findings.filter(({ severity }) => severity === 'refuse') ?? []

test('a rehearsed box is updated, and stays in maintenance until it is stable, with the downtime that was measured', () => {
  const [box] = plan(aBox()).boxes
  expect(box).toMatchObject({
    ...{ does: 'update', fenceMode: 'until-stable', snapshotMode: 'hot', images: { postgres: { image } } },
    upgrade: { way: 'dump-load', databaseBytes: 1e9, roomBytes: 3e9, rehearsedAt: rehearsal.at, downtimeMs: 120_000 },
  })
  expect(box?.fenceReason).toBe('PostgreSQL 17.6 cannot read a database of 18.1')
  const [quick] = plan(aBox({ rehearsal: { ...rehearsal, downtimeMs: 0 } })).boxes
  expect((box?.expectedFenceMs ?? 0) - (quick?.expectedFenceMs ?? 0)).toBe(120_000)
  expect(plan(aBox(), { fenceMode: 'until-proven', snapshotMode: 'before' }).boxes[0]).toMatchObject({
    ...{ fenceMode: 'until-stable', snapshotMode: 'hot' },
  })
})

test('an update within the major version needs no rehearsal', () => {
  const [box] = plan(aBox({ rehearsal: null }), { manifest: aManifest({ postgres: '17.7' }) }).boxes
  expect(box).toMatchObject({ does: 'update' })
  expect(box).not.toHaveProperty('upgrade')
})

const command = `tenantry boxes rehearse-upgrade acme --to ${image}`
test.each([
  ['never rehearsed', { rehearsal: null }, /was never rehearsed/],
  ['rehearsed with another image', { rehearsal: { ...rehearsal, image: 'registry.example/postgres:18.0' } }, /only .*:18\.0 was rehearsed/],
  ['whose rehearsal failed', { rehearsal: { ...rehearsal, ok: false } }, /its last rehearsal failed/],
  ['rehearsed too long ago', { rehearsal: { ...rehearsal, at: before(14 * dayMs + 1) } }, /older than 14 days/],
] as const)('a box that was %s is blocked with the command that rehearses it', (_, change, message) => {
  const [finding, ...others] = found(aBox(change))
  expect(others).toEqual([])
  expect(finding).toMatchObject({ code: 'POSTGRES_MAJOR', message: expect.stringMatching(message) })
  expect(finding?.message).toContain(`fix: \`${command}\``)
})

test('a rehearsal counts to the end of its last day, and one of another digest does not', () => {
  expect(found(aBox({ rehearsal: { ...rehearsal, at: before(14 * dayMs) } }))).toEqual([])
  const manifest = { ...aManifest({ postgres: '18.1' }), digests: { [image]: `sha256:${'2'.repeat(64)}` } }
  const [finding] = found(aBox(), { manifest })
  expect(finding).toMatchObject({ code: 'POSTGRES_MAJOR', message: expect.stringMatching(/the rehearsal of acme was of sha256:1+/) })
  expect(found(aBox(), { manifest: { ...manifest, digests: { [image]: digest } } })).toEqual([])
})

test.each([
  ['an agent that does not upgrade', { facts: { formerDatabases: undefined } }, /upgrade tenantry-agent/],
  ['a database that cannot be copied while it serves', { facts: { hotCopy: { ...hotCopy, isStandby: true } } }, /is a standby/],
  ['a disk without room', { facts: { freeDiskBytes: 2.5e9 } }, /it needs 3\.0 GB of disk space, of which 2\.5 GB are free/],
] as const)('%s blocks the box', (_, change, message) => {
  expect(
    found(aBox(change as Change))
      .map(({ message }) => message)
      .join(),
  ).toMatch(message)
})

test('an older major version is a downgrade', () => {
  expect(found(aBox(), { manifest: aManifest({ postgres: '16.9' }) })).toMatchObject([{ code: 'DOWNGRADE' }])
})

test('without the facts of a rollout no other major version is allowed', () => {
  const target = aManifest({ postgres: '18.1' }).tiers.free
  expect(preflightBox(aBox(), target, { now, staleAfterMs: 26 * 3_600_000, schemas: synapseSchemas })).toMatchObject({ does: 'refuse' })
})

test('a fence of an upgrade is never lifted early, whatever was asked for', () => {
  const to = aManifest({ postgres: '18.1' }).tiers.free
  for (const requested of ['auto', 'until-proven', 'until-stable', 'none'] as const) {
    const choice = chooseFence(aBox(), { to, changes: ['postgres'], requested, snapshot: 'before' }, { schemas: synapseSchemas })
    expect(choice).toMatchObject({ mode: 'until-stable', snapshot: 'hot', way: 'dump-load' })
    expect(choice).not.toHaveProperty('isForced')
  }
})
