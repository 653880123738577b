import { expect, test } from 'vitest'
import { paintWith, type Style } from '../../../src/cli/kit/index.ts'
import { planSummary, planView } from '../../../src/cli/rollouts/plan.ts'
import type { Finding } from '../../../src/core/rollouts/finding.ts'
import { tenantry } from '../../support/command-line.ts'
import { aPlan, aPlannedBox, at } from '../../support/records.ts'

const style: Style = { width: 200, colour: false, paint: paintWith(false), now: new Date(at('02:00:00')) }
const refused = (slug: string, finding: Finding) => aPlannedBox(slug, { does: 'refuse', findings: [finding] })

test('blockers come first, then warnings, both grouped by code', () => {
  const offline = (slug: string): Finding => ({
    severity: 'refuse',
    code: 'HOST_OFFLINE',
    message: `the host of ${slug} is offline. fix: start its agent`,
  })
  const sick: Finding = { severity: 'refuse', code: 'BOX_UNHEALTHY', message: 'in elm minio is exited\u001b[2J: repair it' }
  const other: Finding = { severity: 'warn', code: 'OTHER_SERVICES', message: '1 service that no box has (bridge)' }
  const many = Array.from({ length: 7 }, (_, n) => refused(`t${n}`, offline(`t${n}`)))
  const shown = planView(aPlan([refused('elm', sick), ...many, aPlannedBox('oak', { findings: [other] })]), style)
  const lines = shown.split('\n')
  expect(lines[0]).toBe('Blocked (8): rollout cannot start')
  expect(lines.slice(1, 7)).toEqual([
    ...[0, 1, 2, 3, 4].map((n) => `  t${n}: the host of t${n} is offline. fix: start its agent [HOST_OFFLINE]`),
    '  … and 2 more [HOST_OFFLINE]; --json shows all',
  ])
  expect(lines[7]).toMatch(/^ {2}elm: in elm minio is exited.*repair it \[BOX_UNHEALTHY\]$/)
  expect(shown).not.toContain('\u001b')
  expect(lines.indexOf('Warnings (1)')).toBeGreaterThan(8)
  expect(shown).toContain('  oak: 1 service that no box has (bridge) [OTHER_SERVICES]')
})

test('on a narrow terminal the findings column is dropped first; slugs and versions stay whole', () => {
  const finding: Finding = { severity: 'warn', code: 'SCHEMA_UNKNOWN', message: 'try it on a canary' }
  const shown = planView(aPlan([aPlannedBox('schulverbund-kueste', { phase: 'enterprise', findings: [finding] })]), { ...style, width: 80 })
  expect(shown).toMatch(/^enterprise +schulverbund-kueste .*synapse 1\.157\.1 → 1\.163\.2 /m)
  expect(shown).not.toContain('…')
  expect(shown).toContain('schulverbund-kueste: try it on a canary [SCHEMA_UNKNOWN]')
})

test('the longest slug stays whole on 80 columns', () => {
  const slug = 'gemeinschaftsschule-am-hohen-ufer-ost-40'
  const window = { opensAt: at('05:00:00'), closesAt: at('06:00:00') }
  const shown = planView(aPlan([aPlannedBox(slug, { phase: 'enterprise', window })]), { ...style, width: 80 })
  expect(shown).toMatch(new RegExp(`^enterprise +${slug} +synapse 1\\.157`, 'm'))
})

test('gates are listed with their limits and their query, in the plan and in its summary', () => {
  const gate = { query: 'sum(errors)', atMost: 0.5, atLeast: null, forMs: 600_000, onNoAnswer: 'pause' } as const
  const gates = [
    { ...gate, name: 'errors' },
    { ...gate, name: 'boxes', atMost: null, atLeast: 3, forMs: 0, onNoAnswer: 'continue' as const },
  ]
  for (const view of [planView, planSummary])
    expect(view(aPlan([aPlannedBox('ash')], { gates }), style)).toContain(
      'Gates (asked after each phase)\n' +
        '  errors: at most 0.5 for 10 min; pauses without an answer\n    sum(errors)\n' +
        '  boxes: at least 3; continues without an answer\n    sum(errors)\n',
    )
  expect(planView(aPlan([aPlannedBox('ash')]), style)).not.toContain('Gates')
})

test('images are listed once each with the source of the digest or why it is unresolved', () => {
  const digest = `sha256:${'a'.repeat(64)}`
  const images = [
    { image: 'registry.example/minio:R2', digest: null, from: 'first-pull', why: 'amsel: no such tag\u001b[2J' },
    { image: 'registry.example/postgres:17.7', digest, from: 'registry', askedFrom: 'amsel' },
    { image: 'registry.example/postgres:17.8', digest, from: 'registry', askedFrom: 'amsel', confirmedBy: 'sperling' },
    { image: 'registry.example/postgres:17.9', digest, from: 'registry', askedFrom: 'amsel', confirmedBy: null },
    { image: 'registry.example/synapse:v1.163.2', digest, from: 'fleet' },
    { image: 'registry.example/synapse:v1.163.3', digest, from: 'manifest' },
  ] as const
  for (const view of [planView, planSummary]) {
    const shown = view(aPlan([aPlannedBox('ash')], { images: [...images] }), style)
    expect(shown.split('\n').filter((line) => line.includes('registry.example'))).toEqual([
      '  registry.example/minio:R2          unresolved: amsel: no such tag\ufffd[2J',
      `  registry.example/postgres:17.7     ${digest} (resolved from the registry via amsel)`,
      `  registry.example/postgres:17.8     ${digest} (resolved from the registry via amsel and sperling)`,
      `  registry.example/postgres:17.9     ${digest} (resolved from the registry via amsel only)`,
      `  registry.example/synapse:v1.163.2  ${digest} (already running in the fleet)`,
      `  registry.example/synapse:v1.163.3  ${digest} (pinned by the manifest)`,
    ])
  }
})

test('on a wide terminal each box has its max downtime and duration', () => {
  const shown = planView(aPlan([aPlannedBox('oak', { expectedFenceMs: 60_000, worstFenceMs: 600_000, expectedMs: 90_000 })]), style)
  expect(shown).toMatch(/DOWNTIME +MAX DOWNTIME +DURATION$/m)
  expect(shown).toMatch(/^canary +oak .* 1 min +10 min +1 min 30 s$/m)
})

test('boxes that stay in maintenance until they are stable come last, with the reason', () => {
  const plan = aPlan([aPlannedBox('oak', { fenceMode: 'until-proven' })])
  expect(planView(plan, style)).toMatch(/when proven/)
  expect(planView(plan, style)).not.toContain('In maintenance')
  const closed = { fenceMode: 'until-stable', fenceReason: 'MinIO does not support a downgrade' } as const
  for (const view of [planView, planSummary])
    expect(view(aPlan([aPlannedBox('oak', closed), aPlannedBox('elm', closed)]), style)).toMatch(
      /In maintenance until stable, about 2 min longer: oak, elm \(no rollback by images: MinIO does not support a downgrade\)\.$/,
    )
})

test('boxes that go to another major version of PostgreSQL are named with what their rehearsal measured', () => {
  const upgrade = {
    way: 'dump-load',
    databaseBytes: 55e6,
    roomBytes: 165e6,
    rehearsedAt: '2026-01-04T02:00:00.000Z',
    downtimeMs: 11_000,
  } as const
  const to = { ...aPlannedBox('oak').to, postgres: '17.12' }
  for (const view of [planView, planSummary]) {
    const shown = view(aPlan([aPlannedBox('oak', { upgrade, to })]), style)
    expect(shown).toMatch(
      /Upgrades of PostgreSQL\n {2}oak: PostgreSQL .* → 17\.12, dump and load, 55\.0 MB \(needs 165 MB free\), 11 s when rehearsed/,
    )
    expect(view(aPlan([aPlannedBox('oak')]), style)).not.toContain('Upgrades of PostgreSQL')
  }
})

test('boxes that cannot be copied while they serve come last, with the reason', () => {
  const copied = { snapshotMode: 'before', snapshotReason: 'wal_level of PostgreSQL is minimal' } as const
  for (const view of [planView, planSummary]) {
    expect(view(aPlan([aPlannedBox('oak', copied), aPlannedBox('elm', copied)]), style)).toMatch(
      /Database dumped during the downtime: oak, elm \(no hot copy: wal_level of PostgreSQL is minimal\)\.$/,
    )
    expect(view(aPlan([aPlannedBox('oak', { snapshotMode: 'hot' })]), style)).not.toContain('Database dumped')
  }
})

const offlineHost: Finding = { severity: 'refuse', code: 'HOST_OFFLINE', message: 'the host is offline' }
const observed: Finding = { severity: 'warn', code: 'NOT_MANAGED', message: 'birch is observed; it is skipped' }

test('plan and the summary before a start show the same findings, also those of blocked and skipped boxes', () => {
  const boxes = [refused('elm', offlineHost), aPlannedBox('birch', { does: 'skip', findings: [observed] }), aPlannedBox('oak')]
  for (const shown of [planView(aPlan(boxes), style), planSummary(aPlan(boxes), style)]) {
    expect(shown).toContain('  elm: the host is offline [HOST_OFFLINE]')
    expect(shown).toContain('  birch: birch is observed; it is skipped [NOT_MANAGED]')
    expect(shown).toMatch(/1 box to update, 1 skipped, 1 blocked/)
  }
})

test.each([
  ['a box to update', aPlan([aPlannedBox('oak')]), 2],
  ['a blocked box', aPlan([aPlannedBox('oak'), refused('elm', offlineHost)]), 7],
  ['an active rollout', aPlan([aPlannedBox('oak')], { activeRollouts: [{ rolloutId: 'ro_0', status: 'pro', slugs: ['oak'] }] }), 7],
  ['nothing to do', aPlan([aPlannedBox('oak', { does: 'skip' })]), 0],
] as const)('--exit-code tells CI about %s', async (_, plan, exit) => {
  const answers = { 'POST /admin/tenant-boxes/rollouts/plan': plan }
  expect((await tenantry(['rollouts', 'plan', '--exit-code'], { answers })).exit).toBe(exit)
  expect((await tenantry(['rollouts', 'plan'], { answers })).exit).toBe(0)
})
