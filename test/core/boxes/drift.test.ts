import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type ComponentSeverity, driftOf, driftReport, type Freshness, freshnessOf, worstOf } from '../../../src/core/boxes/index.ts'
import { aManifest } from '../../support/boxes.ts'

describe('drift of a component', () => {
  test.each([
    // component, installed, target, severity
    ['migrationsHead', '0003', '0003', 'none'],
    ['migrationsHead', '0002', '0003', 'major'],
    ['migrationsHead', '0004', '0003', 'major'],
    ['migrationsHead', 'unknown', '0003', 'major'],
    ['postgres', '17.6', '17.6', 'none'],
    ['postgres', '17.5', '17.6', 'minor'],
    ['postgres', '17.7', '17.6', 'minor'],
    ['postgres', '16.10', '17.6', 'major'],
    ['postgres', '18.0', '17.6', 'major'],
    ['postgres', '17.6', '17.6-bookworm', 'none'],
    ['postgres', '17.6-alpine', '17.6-bookworm', 'minor'],
    ['postgres', '17.6 (Debian 17.6-1.pgdg12+1)', '17.6', 'none'],
    ['postgres', 'latest', '17.6', 'major'],
    ['postgres', 'unknown', '17.6', 'major'],
    ['postgres', 'bookworm', '17.6', 'major'],
    ['synapse', '1.157.1', '1.157.1', 'none'],
    ['synapse', 'v1.157.1', '1.157.1', 'none'],
    ['synapse', '1.157.0', '1.157.1', 'minor'],
    ['synapse', '1.157.1', '1.163.2', 'minor'],
    ['synapse', '1.164.0', '1.163.2', 'minor'],
    ['synapse', '1.163.2rc1', '1.163.2', 'minor'],
    ['synapse', '1.163.2', '2.0.0', 'major'],
    ['synapse', '2.0.0', '1.163.2', 'major'],
    ['synapse', 'latest', '1.163.2', 'major'],
    ['synapse', 'develop', '1.163.2', 'major'],
    ['synapse', '', '1.163.2', 'major'],
    ['minio', 'RELEASE.2025-09-07T16-13-09Z', 'RELEASE.2025-09-07T16-13-09Z', 'none'],
    ['minio', '2025-09-07T16:13:09Z', 'RELEASE.2025-09-07T16-13-09Z', 'none'],
    ['minio', 'RELEASE.2023-01-01T00-00-00Z', 'RELEASE.2025-09-07T16-13-09Z', 'minor'],
    ['minio', 'RELEASE.2026-02-12T20-18-48Z', 'RELEASE.2025-09-07T16-13-09Z', 'minor'],
    ['minio', 'RELEASE.2025-09-07T16-13-09Z.hotfix.1a2b', 'RELEASE.2025-09-07T16-13-09Z', 'minor'],
    ['minio', 'RELEASE.2025-19-47T16-13-09Z', 'RELEASE.2025-09-07T16-13-09Z', 'minor'],
    ['minio', 'DEVELOPMENT.GOGET', 'RELEASE.2025-09-07T16-13-09Z', 'minor'],
    ['minio', 'RELEASE.2025-09-07T16-13-09Z', 'school-build-7', 'minor'],
    ['minio', 'school-build-7', 'school-build-7', 'none'],
    ['minio', '', 'RELEASE.2025-09-07T16-13-09Z', 'major'],
    ['minio', 'latest', 'RELEASE.2025-09-07T16-13-09Z', 'major'],
    ['minio', 'unknown', 'RELEASE.2025-09-07T16-13-09Z', 'major'],
  ] as const)('%s %s against %s is %s', (component, installed, target, severity) => {
    expect(driftOf(component, installed, target).severity).toBe(severity)
  })

  test('each item has an explanation', () => {
    expect(driftOf('synapse', '1.157.1', '1.163.2').explanation).toBe('a minor version behind the manifest')
    expect(driftOf('postgres', '18.0', '17.6').explanation).toContain('a major version ahead of the manifest')
  })

  const version = fc.tuple(fc.nat(30), fc.nat(30), fc.nat(30)).map((parts) => parts.join('.'))
  test('a version is in sync with itself and with nothing that is unknown', () => {
    fc.assert(
      fc.property(version, (one) => {
        expect(driftOf('synapse', one, one).severity).toBe('none')
        expect(driftOf('synapse', 'unknown', one).severity).toBe('major')
      }),
    )
  })

  test('drift is as severe seen from either side', () => {
    fc.assert(fc.property(version, version, (a, b) => driftOf('synapse', a, b).severity === driftOf('synapse', b, a).severity))
  })

  test('two versions of other majors are never minor or in sync', () => {
    fc.assert(
      fc.property(version, version, (a, b) => a.split('.')[0] === b.split('.')[0] || driftOf('postgres', a, b).severity === 'major'),
    )
  })
})

describe('drift of a box', () => {
  const installed = aManifest().tiers.free
  const report = (change: Partial<typeof installed>, freshness: Freshness = 'fresh') =>
    driftReport({ tier: 'free', installed: { ...installed, ...change }, freshness }, aManifest(), 4)

  test('it is the highest drift of its components', () => {
    expect(report({}).severity).toBe('none')
    expect(report({ synapse: '1.150.0' }).severity).toBe('minor')
    expect(report({ synapse: '1.150.0', postgres: '16.1' }).severity).toBe('major')
    expect(report({}).manifestRevision).toBe(4)
  })

  test.each(['stale', 'offline', 'never', 'stopped'] as const)('a box whose report is %s is unknown, never in sync', (freshness) => {
    expect(report({}, freshness).severity).toBe('unknown')
    expect(report({ postgres: '16.1' }, freshness).severity).toBe('unknown')
  })

  test('the highest severity does not depend on the order', () => {
    const severity = fc.constantFrom<ComponentSeverity>('none', 'minor', 'major')
    fc.assert(
      fc.property(
        fc.array(severity),
        (all) => worstOf(all) === worstOf([...all].reverse()) && all.every((one) => worstOf([one, worstOf(all)]) === worstOf(all)),
      ),
    )
  })
})

test('a report is fresh up to the limit, and only while its host is online', () => {
  const reportedAt = '2026-01-05T00:00:00.000Z'
  const at = (hours: number) => Date.parse(reportedAt) + hours * 3_600_000
  const limit = 26 * 3_600_000
  const known = { reportedAt, hostOnline: true, stopped: false }
  expect(freshnessOf(known, at(26), limit)).toBe('fresh')
  expect(freshnessOf(known, at(26) + 1, limit)).toBe('stale')
  expect(freshnessOf({ ...known, hostOnline: false }, at(1), limit)).toBe('offline')
  expect(freshnessOf({ ...known, reportedAt: null }, at(1), limit)).toBe('never')
})

test('no report is fresh for a box that no host runs', () => {
  const now = Date.parse('2026-01-05T00:00:00.000Z')
  for (const reportedAt of ['2026-01-05T00:00:00.000Z', '2026-01-01T00:00:00.000Z', null])
    for (const hostOnline of [true, false]) expect(freshnessOf({ reportedAt, hostOnline, stopped: true }, now, 1)).toBe('stopped')
})
