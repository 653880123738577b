import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { addressedBoard } from '../../../src/cli/rollouts/board/addressed-board.ts'
import { layout } from '../../../src/cli/rollouts/board/layout.ts'
import { closingLines, linesOf, openingLines } from '../../../src/cli/rollouts/board/lines.ts'
import {
  type BoardMessage,
  type BoardState,
  boardModel,
  boxesOf,
  boxOf,
  isBoardOver,
  openBoard,
  type RolloutEvent,
  reduce,
} from '../../../src/core/rollouts/index.ts'

import { anAction, anEvent, aRolloutDetail, at } from '../../support/records.ts'
import { fleet, pausedFleet } from './board-fleet.ts'

const now = Date.parse(at('02:07:00'))
const message = (given: Partial<RolloutEvent>): BoardMessage => ({ kind: 'event', event: anEvent(given), receivedAtMs: now })
const two = (given = {}) =>
  openBoard(aRolloutDetail([anAction('a'), anAction('b', { phase: 'pro' })], { status: 'queued', startedAt: null, ...given }))

describe('the reducer', () => {
  test.each<[string, Partial<RolloutEvent>, Partial<BoardState['rollout']>]>([
    ['started', { type: 'rollout.started', status: 'canary', at: at('02:00:00') }, { status: 'canary', startedAt: at('02:00:00') }],
    ['the next phase', { type: 'rollout.phase', status: 'free_5' }, { status: 'free_5', pauseReason: null }],
    [
      'paused',
      { type: 'rollout.paused', status: 'paused', previousStatus: 'canary', reason: 'a failed' },
      { status: 'paused', previousStatus: 'canary', pauseReason: 'a failed' },
    ],
    ['resumed', { type: 'rollout.resumed', status: 'canary' }, { status: 'canary', previousStatus: null, pauseReason: null }],
    ['done', { type: 'rollout.done', status: 'done', at: at('02:30:00') }, { status: 'done', finishedAt: at('02:30:00'), error: null }],
    ['aborted', { type: 'rollout.failed', status: 'failed', reason: 'aborted by anna' }, { status: 'failed', error: 'aborted by anna' }],
    ['rolled back', { type: 'rollout.rolled_back', status: 'rolled_back', reason: 'bad' }, { status: 'rolled_back', error: 'bad' }],
  ])('%s', (_, event, expected) => {
    expect(reduce(two(), message(event)).rollout).toMatchObject(expected)
  })

  const gate = {
    name: 'errors',
    query: 'q',
    atMost: 0.5,
    atLeast: null,
    forMs: 0,
    onNoAnswer: 'pause',
    since: null,
    noAnswer: null,
    missed: 0,
  } as const
  const gates = [{ ...gate, state: 'failed' as const, value: '0.75', at: at('02:06:10') }]
  const baking = { status: 'canary' as const, bakeUntil: at('02:06:00') }

  test('gates stay as they were until an event changes them, and a line says what changed', () => {
    const before = two({ ...baking, gates: [{ ...gate, state: 'waiting', value: null, at: null }] })
    const asked = message({ type: 'rollout.gates', ...baking, gates })
    const after = reduce(before, asked)
    expect(after.rollout.gates).toEqual(gates)
    expect(linesOf(before, asked, after)).toEqual(['02:00:10  gate errors: 0.75 at 02:06:10 UTC, failed (at most 0.5)'])
    expect(linesOf(after, asked, reduce(after, asked))).toEqual([])
    expect(reduce(after, message({ ...baking, action: anAction('a') })).rollout.gates).toEqual(gates)
    const complete = { ...after, actions: boxesOf([anAction('a', { status: 'succeeded' }), anAction('b', { phase: 'pro' })]) }
    expect(boardModel(complete, now).queued).toBe('for gates after canary: errors: 0.75 at 02:06:10 UTC, failed (at most 0.5)')
  })

  test('an action of a paused rollout keeps the reason of the pause', () => {
    const paused = reduce(two(), message({ type: 'rollout.paused', status: 'paused', previousStatus: 'canary', reason: 'a failed' }))
    expect(reduce(paused, message({ status: 'paused', previousStatus: 'canary', action: anAction('b') })).rollout.pauseReason).toBe(
      'a failed',
    )
  })

  test('an action replaces its box and takes the progress of the event', () => {
    const progress = { step: 'probe', detail: '1 of 3 good', at: at('02:01:00') }
    const after = reduce(two(), message({ action: anAction('a', { status: 'probing' }), progress }))
    expect(boxOf(after.actions, 'a')).toMatchObject({ status: 'probing', progress })
    expect(boxOf(after.actions, 'b')?.status).toBe('pending')
  })

  test('a lost connection is shown until the next message', () => {
    const lost = reduce(two(), { kind: 'lost' })
    expect(lost.connected).toBe(false)
    expect(reduce(lost, { kind: 'connected' }).connected).toBe(true)
    expect(reduce(lost, message({})).connected).toBe(true)
  })

  test('elapsed times follow the daemon clock, also after a replayed event', () => {
    const started = { startedAt: at('03:00:00') }
    const live = reduce(two({ status: 'canary', ...started }), message({ at: at('03:00:30') }))
    const replayed = reduce(live, message({ at: at('03:00:01') }))
    expect(boardModel(replayed, now + 5000).elapsedMs).toBe(35_000)
  })
})

describe('the model', () => {
  test('phases, progress and running boxes, oldest first', () => {
    const model = boardModel(fleet(), now)
    expect(model.phases.map(({ phase, state, succeeded, total }) => [phase, state, succeeded, total])).toEqual([
      ['canary', 'done', 1, 1],
      ['free_5', 'running', 0, 2],
      ['free_100', 'waiting', 0, 14],
      ['pro', 'waiting', 0, 4],
      ['enterprise', 'empty', 0, 0],
    ])
    expect(model.running.map(({ slug, elapsedMs }) => [slug, elapsedMs])).toEqual([
      ['kita-nord', 180_000],
      ['hort-sued', 90_000],
    ])
    expect(model.progress).toBeGreaterThan(1 / 21)
    expect(model.progress).toBeLessThan(3 / 21)
  })

  test('the remaining time is divided by the parallelism and scaled by the pace', () => {
    // hort-sued: 150 s left; then 14 boxes and 4 boxes of 240 s, three at a time.
    expect(boardModel(fleet(), now).etaMs).toBe(150_000 + (14 * 240_000) / 3 + (4 * 240_000) / 3)
  })

  test('a stopped rollout has no remaining time', () => {
    expect(boardModel(pausedFleet(), now).etaMs).toBeUndefined()
  })

  test('failures are counted apart from what succeeded, and boxes left out by an operator too', () => {
    const boxes = [
      anAction('a', { status: 'succeeded' }),
      anAction('b', { status: 'rolled_back', waived: true }),
      anAction('c', { status: 'skipped', waived: true }),
      anAction('d', { status: 'failed' }),
    ]
    const model = boardModel(openBoard(aRolloutDetail(boxes, { status: 'done' })), now)
    expect(model).toMatchObject({ succeeded: 1, failed: 2, leftOut: 2, failedLeftOut: 1, total: 3, progress: 1, failedShare: 2 / 3 })
    expect(model.phases.find(({ phase }) => phase === 'canary')).toMatchObject({ state: 'failed', succeeded: 1, failed: 2, total: 3 })
    expect(closingLines(openBoard(aRolloutDetail(boxes, { status: 'done' })))[0]).toBe(
      'done: 1 of 3 boxes updated, 1 failed, 1 failed and skipped, 1 skipped',
    )
  })

  test('cancelled boxes are not counted as finished', () => {
    const left = anAction('b', { phase: 'pro', status: 'cancelled' })
    const state = openBoard(aRolloutDetail([anAction('a', { status: 'succeeded' }), left], { status: 'failed', error: 'aborted by anna' }))
    const { phases, progress } = boardModel(state, now)
    expect(phases.map(({ phase, state, succeeded, total }) => [phase, state, succeeded, total])).toEqual(
      expect.arrayContaining([
        ['canary', 'done', 1, 1],
        ['pro', 'waiting', 0, 1],
      ]),
    )
    expect(progress).toBe(0.5)
    expect(closingLines(state)[0]).toBe('aborted: 1 of 2 boxes updated')
  })

  test('a pause shows its reason and the next commands', () => {
    const model = boardModel(pausedFleet(), now)
    expect(model.reason).toBe('phase free_5 stopped: kita-nord was rolled back after its probes failed')
    expect(model.next.map(({ command }) => command)).toEqual([
      'tenantry rollouts show ro_0123456789abcdefghjk --box kita-nord',
      'tenantry rollouts resume ro_0123456789abcdefghjk',
      'tenantry rollouts resume ro_0123456789abcdefghjk --skip-failed',
      'tenantry rollouts abort ro_0123456789abcdefghjk',
    ])
  })

  test('the next commands repeat the address of the daemon', () => {
    const { next } = addressedBoard(pausedFleet(), now, 'http://127.0.0.1:9999')
    expect(next[1]?.command).toBe('tenantry --url http://127.0.0.1:9999 rollouts resume ro_0123456789abcdefghjk')
  })

  test('a broken box whose error names a command repeats the address too', () => {
    const error = { code: 'BOX_HELD', message: 'held. fix: tenantry boxes release a' }
    const state = openBoard(aRolloutDetail([anAction('a', { status: 'failed', error })]))
    expect(addressedBoard(state, now, 'http://h:1').failures[0]?.reason).toContain('tenantry --url http://h:1 boxes release a')
  })

  test("commands in the daemon's reason are not repeated", () => {
    const state = two({ status: 'paused', pauseReason: 'held after canary, as asked. Next: `tenantry rollouts resume ro_x`' })
    expect(boardModel(state, now).reason).toBe('held after canary, as asked')
  })

  test('a box whose rollback failed is not offered a retry', () => {
    const state = openBoard(aRolloutDetail([anAction('a', { status: 'rollback_failed' })], { status: 'paused', previousStatus: 'canary' }))
    expect(boardModel(state, now).next.map(({ label }) => label)).toEqual(['details', 'skip', 'abort'])
  })

  test('the board after any messages equals a board opened at that time', () => {
    const statuses = ['pending', 'probing', 'succeeded', 'failed', 'rolled_back', 'skipped'] as const
    const telling = fc.record({
      box: fc.nat({ max: 260 }), // some are of none that was known
      phase: fc.constantFrom('canary', 'free_5'),
      status: fc.constantFrom(...statuses),
      waived: fc.boolean(),
      durationMs: fc.constantFrom(null, 60_000, 240_000),
      waitsUntil: fc.constantFrom(null, at('02:30:00')),
    })
    fc.assert(
      fc.property(fc.array(telling, { maxLength: 12 }), (all) => {
        const known = Array.from({ length: 250 }, (_, n) => anAction(`box-${n}`, { phase: n < 20 ? 'canary' : 'free_5' }))
        const byName = new Map(known.map((action) => [action.tenantSlug, action]))
        let state = openBoard(aRolloutDetail(known, { status: 'canary' }))
        for (const { box, ...given } of all) {
          boardModel(state, now)
          const action = anAction(`box-${box}`, given)
          byName.set(action.tenantSlug, action)
          state = reduce(state, message({ status: 'canary', action }))
        }
        expect(boardModel(state, now)).toEqual(boardModel({ ...state, actions: boxesOf([...byName.values()]) }, now))
      }),
    )
  })

  test('progress is between 0 and 1, and the layout never holds more rows than the terminal', () => {
    const statuses = ['pending', 'probing', 'succeeded', 'failed', 'rolled_back', 'skipped'] as const
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...statuses), { maxLength: 200 }),
        fc.integer({ min: 20, max: 60 }),
        fc.constantFrom('canary', 'paused', 'failed'),
        (all, rows, status) => {
          const actions = all.map((one, n) => anAction(`box-${n}`, { status: one, startedAt: at('02:00:00') }))
          const model = boardModel(openBoard(aRolloutDetail(actions, { status, previousStatus: 'canary', pauseReason: 'because' })), now)
          expect(model.progress).toBeGreaterThanOrEqual(0)
          expect(model.progress).toBeLessThanOrEqual(1)
          const shown = layout(model, { columns: 80, rows })
          const listRows = (list: readonly unknown[], more: number) => (list.length > 0 ? 2 + list.length + Math.min(1, more) : 0)
          const outcome = (model.reason ? 3 : 0) + (model.next.length > 0 ? 1 + model.next.length : 0)
          const used = 5 + listRows(shown.running, shown.moreRunning) + listRows(shown.failures, shown.moreFailures) + outcome + 2
          expect(used).toBeLessThan(rows)
        },
      ),
    )
  })
})

describe('plain lines', () => {
  const printed = (state: BoardState, ...messages: BoardMessage[]) => {
    const lines = openingLines(state)
    let current = state
    for (const one of messages) {
      const next = reduce(current, one)
      lines.push(...linesOf(current, one, next))
      current = next
    }
    return [...lines, ...closingLines(current)]
  }

  test('a rollout from its start to its pause', () => {
    const failed = anAction('a', { status: 'failed', error: { code: 'PULL_FAILED', message: 'no such tag\u001b[31m' } })
    expect(
      printed(
        two(),
        message({ type: 'rollout.started', status: 'canary', at: at('02:00:00') }),
        message({ type: 'rollout.phase', status: 'canary', at: at('02:00:00') }),
        message({ action: anAction('a', { status: 'pulling' }), at: at('02:00:01') }),
        message({
          action: anAction('a', { status: 'pulling' }),
          progress: { step: 'prefetch', percent: 10, at: at('02:00:02') },
          at: at('02:00:02'),
        }),
        message({
          action: anAction('a', { status: 'pulling' }),
          progress: { step: 'prefetch', percent: 20, at: at('02:00:03') },
          at: at('02:00:03'),
        }),
        { kind: 'lost' },
        { kind: 'lost' },
        { kind: 'connected' },
        message({ action: failed, at: at('02:00:09') }),
        message({
          type: 'rollout.paused',
          status: 'paused',
          previousStatus: 'canary',
          reason: '1 box of canary failed. Next: `x`',
          at: at('02:00:09'),
        }),
      ),
    ).toEqual([
      'rollout ro_0123456789abcdefghjk is queued: 2 boxes, manifest revision 4',
      '02:00:00  started',
      '02:00:00  phase canary: 1 box',
      '02:00:01  a  pulling',
      '02:00:02  a  pulling: verify images',
      'connection lost, reconnecting',
      'reconnected',
      '02:00:09  a  failed: no such tag\ufffd[31m [PULL_FAILED]',
      '02:00:09  paused: 1 box of canary failed',
      'paused: 0 of 2 boxes updated, 1 failed',
      '  details  tenantry rollouts show ro_0123456789abcdefghjk --box a',
      '  retry    tenantry rollouts resume ro_0123456789abcdefghjk',
      '  skip     tenantry rollouts resume ro_0123456789abcdefghjk --skip-failed',
      '  abort    tenantry rollouts abort ro_0123456789abcdefghjk',
    ])
  })
})

test('attached lines begin with the present state: counts, boxes in progress and failures', () => {
  const boxes = [
    anAction('a', { status: 'succeeded', durationMs: 18_000 }),
    anAction('b', { status: 'probing', progress: { step: 'quick-probe', at: at('02:00:05') } }),
    anAction('c', { status: 'failed', error: { code: 'PULL_FAILED', message: 'no such tag' } }),
    anAction('d', { phase: 'pro' }),
  ]
  expect(openingLines(openBoard(aRolloutDetail(boxes, { status: 'canary' })))).toEqual([
    'rollout ro_0123456789abcdefghjk is in progress (canary): 4 boxes, manifest revision 4',
    '1 of 4 boxes updated, 1 failed',
    'b  probing: quick probes',
    'c  failed: no such tag [PULL_FAILED]',
  ])
})

describe('boxes that are cancelled', () => {
  const abortedWith = (slugs: readonly string[]) => {
    const waiting = slugs.map((slug) => anAction(slug, { phase: 'pro' }))
    const messages = [
      ...waiting.map((action) => message({ status: 'canary', action: { ...action, status: 'cancelled' }, at: at('02:00:09') })),
      message({ type: 'rollout.failed', status: 'failed', reason: 'aborted by anna', at: at('02:00:09') }),
    ]
    const lines: string[] = []
    let state = openBoard(aRolloutDetail([anAction('a', { status: 'succeeded' }), ...waiting], { status: 'canary' }))
    for (const one of messages) {
      const next = reduce(state, one)
      expect(isBoardOver(next)).toBe(one === messages.at(-1)) // only the last message ends it
      lines.push(...linesOf(state, one, next))
      state = next
    }
    return { lines, state }
  }

  test.each([
    [['b', 'c'], 'cancelled: b, c'],
    [Array.from({ length: 400 }, (_, n) => `box-${n}`), 'cancelled: 400 boxes'],
  ])('share one log line', (slugs, says) => {
    expect(abortedWith(slugs).lines).toEqual([`02:00:09  ${says}`, '02:00:09  aborted by anna'])
  })

  test('are neither pending nor finished on the board', () => {
    const { succeeded, total, running, etaMs } = boardModel(abortedWith(['b', 'c']).state, now)
    expect({ succeeded, total, running, etaMs }).toEqual({ succeeded: 1, total: 3, running: [], etaMs: undefined })
  })

  test('add no line when there are none', () => {
    expect(abortedWith([]).lines).toEqual(['02:00:09  aborted by anna'])
  })
})

describe('a box in plain lines', () => {
  const stepAt = (step: string) => ({ step, at: at('02:00:01') })
  const line = (from: Parameters<typeof anAction>[1], to: Parameters<typeof anAction>[1]) => {
    const before = { ...two(), actions: boxesOf([anAction('a', from)]) }
    const event = message({ action: anAction('a', to), at: at('02:00:01') })
    return linesOf(before, event, reduce(before, event)).map((text) => text.slice(10))
  }

  test.each([
    ['begins', { status: 'pending' }, { status: 'preflight' }, ['a  preflight']],
    [
      'begins in a fence mode',
      { status: 'pending' },
      { status: 'preflight', fenceMode: 'until-proven' },
      ['a  preflight (maintenance will end when proven)'],
    ],
    [
      'has its mode already',
      { status: 'preflight', fenceMode: 'until-proven' },
      { status: 'pulling', fenceMode: 'until-proven' },
      ['a  pulling'],
    ],
    ['goes on preparing', { status: 'preflight' }, { status: 'pulling' }, ['a  pulling']],
    ['is fenced', { status: 'pulling' }, { status: 'snapshotting', progress: stepAt('fence') }, ['a  snapshotting: start maintenance']],
    [
      'goes on in a step',
      { status: 'pulling', progress: stepAt('pull') },
      { status: 'pulling', progress: { ...stepAt('pull'), percent: 40 } },
      [],
    ],
    ['is probed', { status: 'updating' }, { status: 'probing' }, ['a  probing']],
    [
      'is probed again',
      { status: 'probing', progress: { ...stepAt('probe'), detail: '1 of 3 good' } },
      { status: 'probing', progress: { ...stepAt('probe'), detail: '2 of 3 good' } },
      [],
    ],
    [
      'waits for its rollback',
      { status: 'succeeded', durationMs: 18_000 },
      { status: 'succeeded', durationMs: 18_000, rollback: { mode: 'images', status: 'pending', error: null } },
      [],
    ],
    [
      'takes a snapshot in its rollback',
      { status: 'rolling_back', progress: stepAt('fence') },
      { status: 'rolling_back', progress: stepAt('snapshot') },
      ['a  rolling back: snapshot'],
    ],
    ['is restored', { status: 'probing' }, { status: 'rolling_back' }, ['a  rolling back']],
    [
      'is over',
      { status: 'probing' },
      { status: 'succeeded', durationMs: 18_000, fencedMs: 12_000 },
      ['a  succeeded in 18 s, downtime 12 s'],
    ],
    ['is tried again', { status: 'failed' }, { status: 'pulling' }, ['a  pulling']],
  ] as const)('which %s', (_, from, to, lines) => {
    expect(line(from, to)).toEqual(lines)
  })
})
