import { describe, expect, test } from 'vitest'
import {
  type ActionCounts,
  boardModel,
  currentRollout,
  lastMoveText,
  listedState,
  openBoard,
  type ReturnedBoxes,
  type RolloutAction,
  reduce,
  rolloutState,
  skippedBoxes,
  stateTint,
  stillAsked,
  stillAskedText,
  timelineText,
  updatedPercent,
  updatedText,
  updateSkippedCommand,
} from '../../../src/core/rollouts/index.ts'
import { aManifest } from '../../support/boxes.ts'
import { anAction, anEvent, aReport, aRollout, aRolloutDetail, at } from '../../support/records.ts'

const old = { migrationsHead: '0000', postgres: '17.6', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' }
const updated = { ...old, synapse: '1.163.2', migrationsHead: '0001' }
const box = (given: Partial<ReturnedBoxes> = {}): ReturnedBoxes => ({ tier: 'free', mode: 'images', from: old, to: updated, ...given })
const revision = (number: number, synapse: string) => ({ revision: number, manifest: aManifest({ synapse }) })

describe('after a rollback the manifest', () => {
  const earlier = [revision(2, '1.160.0'), revision(1, '1.157.1')]

  test('still asks for the versions; the newest earlier one with the versions from before is named', () => {
    const asked = stillAsked({ boxes: [box()], current: revision(3, '1.163.2'), earlier })
    expect(asked).toEqual({ revision: 3, versions: ['synapse 1.163.2'], formerRevision: 1 })
    expect(asked && stillAskedText(asked)).toBe(
      'Manifest revision 3 still asks for synapse 1.163.2: the next rollout updates the boxes again.',
    )
  })

  test('that has these versions nowhere before names the newest without those of now, or none', () => {
    const unknown = [box({ from: { ...old, synapse: '1.150.0' } })]
    expect(stillAsked({ boxes: unknown, current: revision(3, '1.163.2'), earlier })?.formerRevision).toBe(2)
    expect(stillAsked({ boxes: unknown, current: revision(3, '1.163.2'), earlier: [] })?.formerRevision).toBeNull()
  })

  test('asks for nothing that a rollback by images left as it was, or that it no longer names', () => {
    expect(stillAsked({ boxes: [box()], current: revision(4, '1.157.1'), earlier })).toBeNull()
    const tables = box({ to: { ...old, migrationsHead: '0001' } })
    const current = { revision: 3, manifest: aManifest({ migrationsHead: '0001' }) }
    expect(stillAsked({ boxes: [tables], current, earlier })).toBeNull()
    expect(stillAsked({ boxes: [{ ...tables, mode: 'snapshot' }], current, earlier: [revision(2, '1.157.1')] })).toEqual({
      revision: 3,
      versions: ['migrations 0001'],
      formerRevision: 2,
    })
  })
})

const rolledBack = { mode: 'images', status: 'done', error: null } as const

test('the last move of a box is that of its rollback; by images the tables stay', () => {
  const action = anAction('a', { from: old, to: updated })
  expect(lastMoveText({ ...action, rollback: { ...rolledBack, status: 'running' } })).toBe(
    'synapse 1.157.1 → 1.163.2, migrations 0000 → 0001',
  )
  expect(lastMoveText({ ...action, rollback: rolledBack })).toBe('synapse 1.163.2 → 1.157.1')
  expect(lastMoveText({ ...action, rollback: { ...rolledBack, mode: 'snapshot' } })).toBe(
    'synapse 1.163.2 → 1.157.1, migrations 0001 → 0000',
  )
})

const counts = (rollback: Partial<NonNullable<ActionCounts['rollback']>>): ActionCounts => ({
  ...aRollout().counts,
  rollback: { total: 24, pending: 0, running: 0, done: 0, failed: 0, ...rollback },
})

test.each([
  [counts({ pending: 20, running: 1, done: 3 }), 'rolling back (3 of 24)', 'yellow'],
  [counts({ done: 24 }), 'rolled back', 'red'],
  [counts({ done: 23, failed: 1 }), 'rolled back (23 of 24)', 'red'],
  [counts({ failed: 24 }), 'rollback failed (24 boxes)', 'red'],
])('a finished rollout says its rollback, in lists too: %j', (counts, says, tint) => {
  for (const status of ['done', 'failed', 'rolled_back'] as const) {
    const rollout = aRollout({ status, counts })
    expect([rolloutState(rollout), listedState(rollout), stateTint(rollout)]).toEqual([says, says, tint])
  }
})

describe('the board of a finished rollout', () => {
  const done = (slug: string, phase: RolloutAction['phase']) => anAction(slug, { phase, status: 'succeeded' })
  const boxes = [done('a', 'canary'), done('b', 'pro'), done('c', 'pro')]
  const back = (action: RolloutAction, status: 'pending' | 'done') => ({
    ...action,
    status: status === 'done' ? ('rolled_back' as const) : action.status,
    rollback: { ...rolledBack, status },
  })
  const event = (given: Parameters<typeof anEvent>[0]) =>
    ({ kind: 'event', event: anEvent({ status: 'done', ...given }), receivedAtMs: 0 }) as const
  const now = Date.parse(at('03:00:00'))
  const before = openBoard(aRolloutDetail(boxes, { status: 'done', finishedAt: at('02:30:00') }))

  test('follows its rollback by events alone: state, phases, bar and counts', () => {
    const asked = boxes.map((action) => event({ action: back(action, 'pending') }))
    const begun = [
      ...asked,
      event({ type: 'rollout.rolled_back', reason: 'users report errors' }),
      event({ action: back(boxes[2] as RolloutAction, 'done') }),
    ]
    const during = begun.reduce(reduce, before)
    expect(boardModel(before, now)).toMatchObject({ word: 'done', progress: 1, tint: 'green' })
    expect(boardModel(during, now)).toMatchObject({
      word: 'rolling back (1 of 3)',
      status: 'rolled_back',
      tint: 'yellow',
      reason: 'users report errors',
    })
    expect(updatedPercent(boardModel(during, now))).toBe(66)
    const after = boxes.map((action) => event({ action: back(action, 'done') })).reduce(reduce, during)
    const model = boardModel(after, now)
    expect([model.word, updatedPercent(model), updatedText(model)]).toEqual(['rolled back', 0, '3 of 3 boxes rolled back'])
    expect(model.phases.filter(({ total }) => total > 0).map(({ phase, state, rollback }) => [phase, state, rollback?.rolledBack])).toEqual(
      [
        ['canary', 'rolled back', 1],
        ['pro', 'rolled back', 2],
      ],
    )
    expect(rolloutState(currentRollout(after))).toBe('rolled back')
  })

  test('offers the earlier manifest while the present one asks for the versions', () => {
    const asked = { revision: 3, versions: ['synapse 1.163.2'], formerRevision: 2 }
    const board = openBoard(
      aRolloutDetail(
        boxes.map((action) => back(action, 'done')),
        { status: 'done', stillAsked: asked },
      ),
    )
    expect(boardModel(board, now).next).toEqual([{ label: 'manifest', command: 'tenantry manifest rollback 2' }])
  })
})

test('skipped boxes are updated by a rollout of their own; of many, or of boxes without names, the plan is offered', () => {
  const skipped = anAction('a', { status: 'failed', waived: true })
  const board = openBoard(aRolloutDetail([skipped, anAction('b', { status: 'succeeded' })], { status: 'done' }))
  expect(boardModel(board, 0).next).toEqual([{ label: 'update skipped', command: 'tenantry rollouts create --target a --start' }])
  expect(skippedBoxes([skipped, anAction('c')])).toEqual(['a'])
  expect(skippedBoxes([skipped, anAction('c', { rollback: rolledBack })])).toEqual([])
  expect(updateSkippedCommand({ count: 2, slugs: ['a'] })).toBe('tenantry rollouts plan')
  expect(updateSkippedCommand({ count: 21, slugs: Array.from({ length: 21 }, (_, n) => `box-${n}`) })).toBe('tenantry rollouts plan')
})

test('the timeline leaves out the sentences that its view shows above it', () => {
  const report = aReport([])
  const paused = {
    at: at('02:05:00'),
    actor: 'system:rollouts',
    action: 'rollout.paused',
    phase: 'canary',
    reason: 'canary stopped: a failed. Next: …',
  } as const
  const text = (rollout: Partial<typeof report.rollout>) => timelineText(paused, { ...report, rollout: { ...report.rollout, ...rollout } })
  expect(text({})).toEqual(['paused by the engine: canary stopped: a failed'])
  expect(text({ pauseReason: paused.reason })).toEqual(['paused by the engine'])
  const [created] = report.timeline
  expect(created && timelineText(created, { ...report, rollout: { ...report.rollout, reason: created.reason } })).toEqual([
    'created by admin:anna',
  ])
})
