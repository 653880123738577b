import { expect, test } from 'vitest'
import { callKeys } from '../../src/console/kit/call-keys.ts'
import { createOpen } from '../../src/console/rollouts/create-open.ts'
import { emptyDraft, orderOf } from '../../src/console/rollouts/emergency-order.ts'
import { courseOf } from '../../src/console/rollouts/expected-course.ts'
import { problem } from '../../src/core/kit/index.ts'
import type { Rehearsal, RehearsedBox, RolloutStatus } from '../../src/core/rollouts/index.ts'

const draft = {
  ...emptyDraft,
  cve: 'cve-2026-12345',
  reason: 'rooms of others can be read',
  triggeredBy: 'Anna, on call',
  toChatServer: ' 1.163.2',
}

test('a repeated call that finds a rollout that is over creates another one; an open one is not created twice', async () => {
  const nowMs = () => 0
  let keys = 0
  const withKey = callKeys({ newKey: () => `key-${++keys}`, nowMs })
  const made = new Map<string, RolloutStatus>()
  const create = (isLost = false) =>
    withKey('create', async (key) => {
      made.set(key, made.get(key) ?? 'queued')
      if (isLost) throw problem('UNREACHABLE', 'the answer was lost')
      return { key, status: made.get(key) as RolloutStatus }
    })
  await expect(create(true)).rejects.toMatchObject({ code: 'UNREACHABLE' })
  made.set('key-1', 'failed')
  const created = await createOpen(create)
  expect(created).toEqual({ key: 'key-2', status: 'queued' })
  expect(await createOpen(create, async () => created)).toBe(created)
  expect(await createOpen(create, async () => ({ ...created, status: 'failed' }))).toEqual({ key: 'key-3', status: 'queued' })
})

test('an emergency is complete only with all that the CLI asks', () => {
  expect(orderOf(draft).order).toEqual({
    cveId: 'CVE-2026-12345',
    reason: 'CVE-2026-12345: rooms of others can be read',
    triggeredBy: 'Anna, on call',
    targets: { toChatServer: '1.163.2' },
  })
})

test.each([
  ['without an id', { cve: 'CVE-2026' }, 'cve'],
  ['without a reason', { reason: '' }, 'reason'],
  ['with a reason that names another CVE', { reason: 'CVE-2026-99999 lets others read rooms' }, 'reason'],
  ['without any version', { toChatServer: '' }, 'targets'],
  ['without the person who decided', { triggeredBy: ' ' }, 'triggeredBy'],
])('an emergency %s is not sent', (_, change, field) => {
  const { order, problems } = orderOf({ ...draft, ...change })
  expect(order).toBeUndefined()
  expect(Object.keys(problems)).toEqual([field])
})

const box = (tenantSlug: string, beginsMs: number | null, endsMs: number | null, status: RehearsedBox['status']) =>
  ({ tenantSlug, beginsMs, endsMs, status }) as RehearsedBox

test('the expected course counts boxes in maintenance, updated and failed at each begin and end', () => {
  const boxes = [
    box('a', 0, 10, 'succeeded'),
    box('b', 10, 30, 'rolled_back'),
    box('c', 10, 40, 'succeeded'),
    box('d', null, null, 'cancelled'),
  ]
  const phases = [{ phase: 'canary', boxes: 1, beginsMs: 0, endsMs: 10 }] as Rehearsal['phases']
  const course = courseOf({ boxes, phases, pauses: [{ atMs: 40, phase: 'free_100', reason: 'b failed' }] })
  expect(course).toMatchObject({
    atMs: [0, 10, 30, 40],
    busyAt: [1, 2, 1, 0],
    updatedAt: [0, 1, 1, 2],
    failedAt: [0, 0, 1, 1],
    endMs: 40,
    phases: [{ phase: 'canary', fromMs: 0 }],
    pausesMs: [40],
  })
})
