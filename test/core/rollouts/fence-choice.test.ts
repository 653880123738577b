import { expect, test } from 'vitest'
import type { Component } from '../../../src/core/boxes/index.ts'
import { chooseFence, type KnownBox, requestedFence, requestedSnapshot } from '../../../src/core/rollouts/index.ts'
import { aManifest, aReport } from '../../support/boxes.ts'
import { aKnownBox } from '../../support/rollouts.ts'
import { synapseSchemas } from '../../support/synapse-schemas.ts'

const noFacts = {
  ...{ schemaVersion: null, compatVersion: null, backgroundUpdates: null, collation: null, libc: null, mediaBytes: null },
  ...{ objectBytes: null, otherServices: null, wouldRecreate: null, composeChanged: null, notRestorable: null, scaledServices: null },
}
const hotFacts = {
  ...{ major: 15, walLevel: 'replica', freeSlots: 10, fullPageWrites: true, isStandby: false, isSuperuser: true },
  ...{ checksumFailures: 0, tablespaces: 0 },
}
const hotBox = {
  databaseBytes: 1e9,
  report: aReport('oak', { facts: { ...noFacts, freeDiskBytes: 50e9, hotCopy: hotFacts } }),
}

const limits = { schemas: synapseSchemas }
type Row = Readonly<{
  box?: Partial<KnownBox>
  synapse?: string
  changes?: Component[]
  requested?: 'auto' | 'until-stable' | 'until-proven' | 'none'
  snapshot?: 'before' | 'hot'
}>
const chosen = ({ box = {}, synapse = '1.163.2', changes = ['synapse'], requested = 'auto', snapshot = 'before' }: Row) =>
  chooseFence(aKnownBox('oak', box), { to: aManifest({ synapse }).tiers.free, changes, requested, snapshot }, limits)

test.each<[rule: string, Row, object]>([
  ['the former version reads what the new one writes', {}, { mode: 'until-proven', formerSchema: expect.any(Number) }],
  ['the object store changes', { changes: ['synapse', 'minio'] }, { mode: 'until-stable', reason: 'MinIO does not support a downgrade' }],
  ['the target is not in the table', { synapse: '9.9.9' }, { mode: 'until-stable', reason: 'the schema of Synapse 9.9.9 is unknown' }],
  ['only PostgreSQL changes', { changes: ['postgres'] }, { mode: 'until-proven', formerSchema: expect.any(Number) }],
  ['the mode is requested', { requested: 'until-stable' }, { mode: 'until-stable' }],
  ['none is requested', { requested: 'none' }, { mode: 'none', formerSchema: expect.any(Number) }],
  ['until-proven is requested without proof', { requested: 'until-proven', changes: ['minio'] }, { mode: 'until-proven', isForced: true }],
])('%s', (_, row, choice) => {
  expect(chosen(row)).toMatchObject(choice)
  if (row.requested) expect(chosen(row)).not.toHaveProperty('formerSchema', undefined)
})

test('the agent gets the table of harmless updates, but not where the schema refuses a rollback by images', () => {
  expect(chosen({}).harmlessUpdates).toContain('events_received_ts_index')
  expect(chosen({ changes: ['minio'] })).not.toHaveProperty('harmlessUpdates')
})

test('a former version that cannot read the new schema keeps the box closed until it is stable', () => {
  const installed = { ...aKnownBox('oak').installed, synapse: '1.97.0' }
  expect(chosen({ box: { installed } })).toEqual({ mode: 'until-stable', reason: 'Synapse 1.97.0 cannot read a database of 1.163.2' })
})

test('the request of a rollout comes before that of the tier', () => {
  const tiers = { free: 'none', pro: 'auto', enterprise: 'until-stable' } as const
  expect(requestedFence('until-proven', tiers, 'free')).toBe('until-proven')
  expect((['free', 'pro', 'enterprise'] as const).map((tier) => requestedFence('auto', tiers, tier))).toEqual([
    'none',
    'auto',
    'until-stable',
  ])
})

test.each<[rule: string, Row, 'hot' | undefined]>([
  ['from a hot copy where its PostgreSQL has what that needs', { snapshot: 'hot', box: hotBox }, 'hot'],
  ['and without a fence', { snapshot: 'hot', box: hotBox, requested: 'none' }, 'hot'],
  ['also where the box stays fenced until it is stable', { snapshot: 'hot', box: hotBox, changes: ['minio'] }, 'hot'],
  ['not by default', {}, undefined],
])('the snapshot is stored %s', (_, row, snapshot) => {
  expect(chosen(row).snapshot).toBe(snapshot)
})

test('the snapshot of a box that cannot be copied while it serves is stored before, and the reason is known', () => {
  const unknown = chosen({ snapshot: 'hot' })
  expect([unknown.snapshot, unknown.snapshotReason]).toEqual([undefined, expect.stringMatching(/did not report/)])
  const facts = { ...noFacts, freeDiskBytes: 50e9, hotCopy: { ...hotFacts, walLevel: 'minimal' } }
  const box = { ...hotBox, report: { ...hotBox.report, facts } }
  const minimal = chosen({ snapshot: 'hot', box })
  expect([minimal.snapshot, minimal.snapshotReason]).toEqual([undefined, expect.stringMatching(/wal_level/)])
})

test('the snapshot mode of a rollout comes before that of the tier', () => {
  const tiers = { free: 'before', pro: 'hot', enterprise: 'before' } as const
  expect([requestedSnapshot('auto', tiers, 'pro'), requestedSnapshot('before', tiers, 'pro')]).toEqual(['hot', 'before'])
})
