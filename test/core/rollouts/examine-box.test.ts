import { describe, expect, test } from 'vitest'
import type { InstalledVersions } from '../../../src/core/boxes/index.ts'
import { examineBox, type KnownBox } from '../../../src/core/rollouts/index.ts'
import { aManifest, aReport } from '../../support/boxes.ts'
import { aKnownBox } from '../../support/rollouts.ts'

const now = '2026-01-05T02:10:00.000Z'
const target = aManifest({ synapse: '1.163.2' }).tiers.free
const look = (changes: Partial<KnownBox>, to = target) => examineBox(aKnownBox('acme', changes), to, { now, staleAfterMs: 26 * 3_600_000 })
const withVersions = (changes: Partial<InstalledVersions>) => ({ installed: { ...aReport('acme').installed, ...changes } })
const codes = (box: Partial<KnownBox>, to = target) => look(box, to).findings.map(({ severity, code }) => `${severity} ${code}`)

test('a healthy box behind its target is updated, and only what differs changes', () => {
  expect(look({})).toEqual({ does: 'update', changes: ['synapse'], findings: [] })
})

test('a box that runs its target is skipped, whatever else may be said of it', () => {
  expect(look({ ...withVersions({ synapse: '1.163.2' }), managed: false }).does).toBe('skip')
})

describe('refusals', () => {
  test.each<[string, Partial<KnownBox>, typeof target?]>([
    ['NOT_MANAGED', { managed: false }],
    ['NO_REPORT', { reportedAt: null, report: null }],
    ['STALE_REPORT', { reportedAt: '2026-01-03T20:00:00.000Z' }],
    ['HOST_OFFLINE', { hostOnline: false }],
    ['BOX_FENCED', { report: aReport('acme', { fenced: true }) }],
    ['VERSION_UNKNOWN', withVersions({ synapse: 'unknown' })],
    ['DOWNGRADE', withVersions({ synapse: '1.164.0' })],
    ['DOWNGRADE', { ...withVersions({ minio: 'RELEASE.2025-10-01T00-00-00Z' }) }],
    ['DOWNGRADE', { ...withVersions({ postgres: '17.7' }) }],
    ['POSTGRES_MAJOR', withVersions({ postgres: '16.9' })],
    ['MIGRATIONS_DIFFER', withVersions({ migrationsHead: '0003' })],
  ])('%s', (code, box, to) => {
    expect(look(box, to).does).toBe('refuse')
    expect(codes(box, to)).toContain(`refuse ${code}`)
  })

  test('a release candidate is older than its release', () => {
    expect(look(withVersions({ synapse: '1.163.2rc1' })).does).toBe('update')
    expect(codes(withVersions({ synapse: '1.163.2' }), { ...target, synapse: '1.163.2rc1' })).toEqual(['refuse DOWNGRADE'])
  })
})

test('a host is called by its name', () => {
  expect(look({ hostOnline: false }).findings[0]?.message).toBe('the host host-of-acme of acme is offline: start its agent')
})

test('a held box is only warned of: its turn may come when it is free', () => {
  expect(look({ heldBy: 'rollout:ro_other', report: aReport('acme', { fenced: true }) }).does).toBe('update')
  expect(codes({ heldBy: 'rollout:ro_other' })).toEqual(['warn BOX_HELD'])
})
