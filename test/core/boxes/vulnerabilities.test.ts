import { expect, test } from 'vitest'
import { type Component, type Fix, type InstalledVersions, isOlder, reintroducedVulnerabilities } from '../../../src/core/boxes/index.ts'

const now: InstalledVersions = { migrationsHead: '0003', postgres: '17.6', synapse: '1.163.2', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const fix: Fix = { emergency: 'cve-20260105-abcd2345', cveId: 'CVE-2026-12345', versions: { synapse: '1.163.2' }, overAt: null }
const opened = (to: Partial<InstalledVersions> | null, from: Partial<InstalledVersions> = {}, fixes = [fix]) =>
  reintroducedVulnerabilities(fixes, { from: { ...now, ...from }, to: to && { ...now, ...to } }).map(
    ({ component, version }) => `${component} ${version}`,
  )

test.each<[what: string, to: Partial<InstalledVersions> | null, from: Partial<InstalledVersions>, found: string[]]>([
  ['an older version', { synapse: '1.157.1' }, {}, ['synapse 1.157.1']],
  ['a release candidate of the fix', { synapse: '1.163.2rc1' }, {}, ['synapse 1.163.2rc1']],
  ['the fixed version', {}, {}, []],
  ['a newer version', { synapse: '1.170.0' }, { synapse: '1.171.0' }, []],
  ['another component', { postgres: '17.5' }, {}, []],
  ['a version while it runs a vulnerable one', { synapse: '1.150.0' }, { synapse: '1.157.1' }, []],
  ['an unreadable version', { synapse: 'unknown' }, {}, ['synapse unknown']],
  ['an unknown version', null, {}, ['synapse null']],
  ['a vulnerable version from an unreadable one', { synapse: '1.157.1' }, { synapse: 'unknown' }, ['synapse 1.157.1']],
])('a box that moves to %s', (_, to, from, found) => {
  expect(opened(to, from)).toEqual(found)
})

test('each fix and each component of it counts by itself', () => {
  const other: Fix = { ...fix, emergency: 'cve-20260106-bcde3456', versions: { synapse: '1.160.0', migrationsHead: '0002' } }
  expect(opened({ synapse: '1.157.1', migrationsHead: '0001' }, {}, [fix, other])).toEqual([
    'synapse 1.157.1',
    'migrationsHead 0001',
    'synapse 1.157.1',
  ])
})

test('an unreadable MinIO version counts as fixed too', () => {
  const ofObjects: Fix = { ...fix, versions: { minio: now.minio } }
  const former = 'RELEASE.2025-07-23T15-54-02Z'
  for (const minio of ['unknown', 'latest', '']) expect(opened({ minio: former }, { minio }, [ofObjects])).toEqual([`minio ${former}`])
})

test.each<[Component, string, string, boolean]>([
  ['synapse', '1.99.0', '1.157.1', true],
  ['synapse', '1.157.1', '1.157.1', false],
  ['postgres', '17.5-bookworm', '17.6', true],
  ['minio', '2025-07-23T15:54:02Z', 'RELEASE.2025-09-07T16-13-09Z', true],
  ['minio', 'nightly', 'RELEASE.2025-09-07T16-13-09Z', true],
  ['migrationsHead', '0009', '0010', true],
  ['migrationsHead', 'unknown', '0010', false],
  ['synapse', 'nightly', '1.157.1', false],
])('%s %s before %s: %j', (component, version, than, older) => {
  expect(isOlder(component, version, than)).toBe(older)
})
