import { expect, test } from 'vitest'
import { actionText, type BoxUpdate, historyLimit, historyOf } from '../../src/console/boxes/history.ts'
import type { Alert } from '../../src/core/alerts/index.ts'
import type { Snapshot } from '../../src/core/snapshots/index.ts'

const at = (minute: number) => `2026-01-05T02:${String(minute).padStart(2, '0')}:00.000Z`
const versions = { migrationsHead: '0', postgres: '17', synapse: '1.0', minio: 'M' }

const entry = (minute: number, action: string, data: unknown = {}) => ({
  ...{ chain: 'admin', seq: minute, at: at(minute), actor: 'admin:anna', action, subject: 'linden', data },
})
const update = (minute: number, change: Partial<BoxUpdate> = {}): BoxUpdate => ({
  ...{ rolloutId: 'ro_1', kind: 'update', attempt: 1, status: 'succeeded', from: versions, to: { ...versions, synapse: '1.1' } },
  ...{ startedAt: at(minute), finishedAt: at(minute + 1), durationMs: 60_000, error: null },
  ...change,
})
const alert = (minute: number, change: Partial<Alert> = {}): Alert =>
  ({
    ...{ id: 7, kind: 'box_down', severity: 'critical', title: 'linden is down', count: 1 },
    ...{ firstAt: at(minute), lastAt: at(minute), closedAt: null, closedBecause: null },
    ...change,
  }) as Alert
const drilled = (minute: number, ok: boolean): Snapshot =>
  ({
    ...{ slug: 'linden', snapshotId: '0123456789abcdef' },
    lastDrill: {
      at: at(minute),
      ok,
      durationMs: 5000,
      restoreMs: null,
      error: ok ? null : { code: 'RESTORE_FAILED', message: 'no' },
      media: null,
    },
  }) as Snapshot

test('updates, alerts, drills and changes are one line, newest first, each with its page', () => {
  const events = historyOf({
    entries: [entry(9, 'box.move.taking_over', { reason: 'full' }), entry(8, 'box.logs'), entry(1, 'box.provision')],
    updates: [update(5, { status: 'rolled_back', error: { code: 'BOX_UNHEALTHY', message: 'no answer' } }), update(2)],
    alerts: [alert(6, { closedAt: at(7), closedBecause: 'it runs again', count: 3 })],
    snapshots: [drilled(4, false)],
  })
  expect(events.map(({ text, tone, to, detail }) => [text, tone, to, detail])).toEqual([
    ['Move: taking over', 'off', undefined, 'admin:anna: full'],
    ['Alert closed: linden is down', 'ok', '/alerts/7', 'it runs again'],
    ['Update: synapse 1.0 → 1.1: rolled back', 'failed', '/rollouts/ro_1', 'rollout ro_1, in 1 min, no answer [BOX_UNHEALTHY]'],
    ['Alert: linden is down', 'failed', '/alerts/7', '3 times'],
    ['Drill of snapshot 01234567: failed', 'failed', '/snapshots?slug=linden&q=01234567', 'no [RESTORE_FAILED]'],
    ['Update: synapse 1.0 → 1.1: succeeded', 'ok', '/rollouts/ro_1', 'rollout ro_1, in 1 min'],
    ['Provisioning requested', 'off', undefined, 'admin:anna'],
  ])
})

test('the line ends where a source was cut off', () => {
  const entries = Array.from({ length: historyLimit }, (_, n) => entry(59 - n, 'box.canary'))
  const events = historyOf({ entries, updates: [update(20), update(2)], alerts: [], snapshots: [] })
  expect(events.at(-1)?.at).toBe(at(10))
  expect(events.filter(({ to }) => to)).toHaveLength(1)
})

test('an update that goes on is at its start, and a rollback that worked is good', () => {
  const [running, rolledBack] = historyOf({
    ...{ entries: [], alerts: [], snapshots: [] },
    updates: [
      update(9, { status: 'updating', finishedAt: null, durationMs: null }),
      update(3, { kind: 'rollback-images', status: 'rolled_back', attempt: 2 }),
    ],
  })
  expect([running?.at, running?.tone]).toEqual([at(9), 'working'])
  expect([rolledBack?.text, rolledBack?.tone]).toEqual(['Rollback by images: rolled back', 'ok'])
})

test('an action without words of its own keeps its name', () => {
  expect(actionText('box.removal.handing_over')).toBe('Removal: handing over')
  expect(actionText('box.something')).toBe('box.something')
})
