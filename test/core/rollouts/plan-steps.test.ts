import { describe, expect, test } from 'vitest'
import { type EngineAction, type EngineCommand, type EngineRollout, evaluateUpdate, planSteps } from '../../../src/core/rollouts/index.ts'
import { anEngineAction, anEngineCommand } from '../../support/rollouts.ts'

const rollout: EngineRollout = { kind: 'staged', status: 'canary', failureThreshold: 1 }
const limits = { parallel: 3, perHost: 1 }
const next = (actions: readonly EngineAction[], commands: readonly EngineCommand[] = [], changes: Partial<EngineRollout> = {}) =>
  planSteps({ rollout: { ...rollout, ...changes }, actions, commands: new Map(commands.map((command) => [command.id, command])) }, limits)
const flying = (slug: string, changes: Partial<EngineAction> = {}) =>
  anEngineAction(slug, { status: 'preflight', step: 'observe', commandId: `${slug}.1`, ...changes })

describe('the queue', () => {
  test('begins at most three, the longest first', () => {
    const waiting = ['a', 'b', 'c', 'd'].map((slug, n) => anEngineAction(slug, { expectedMs: n * 1000 }))
    expect(next(waiting)).toEqual(['d', 'c', 'b'].map((slug) => ({ do: 'begin-update', slug })))
  })

  test('begins one per host', () => {
    const waiting = ['a', 'b', 'c'].map((slug) => anEngineAction(slug, { hostId: slug === 'c' ? 'h2' : 'h1' }))
    expect(next(waiting)).toEqual([
      { do: 'begin-update', slug: 'a' },
      { do: 'begin-update', slug: 'c' },
    ])
  })

  test('takes boxes of the running phase only', () => {
    expect(next([anEngineAction('a', { phase: 'pro' }), flying('b')], [anEngineCommand('b.1')])).toEqual([])
  })

  test('an empty phase passes at once', () => {
    expect(next([anEngineAction('a', { phase: 'pro' })])).toEqual([{ do: 'advance', from: 'canary' }])
  })

  describe('a box that somebody else holds', () => {
    const held = anEngineAction('a', { expectedMs: 9000, held: { holder: 'rollout:ro_y', until: '2026-01-05T03:00:00.000Z' } })
    const why = 'on hold: rollout ro_y (until 2026-01-05T03:00:00.000Z at the latest); begins when it is free'
    const told = { ...held, progress: { step: 'wait', detail: why, at: '2026-01-05T02:00:00.000Z' } }

    test('waits and says for whom, once, and takes no place from the others', () => {
      const others = ['b', 'c', 'd'].map((slug) => anEngineAction(slug))
      expect(next([held, ...others])).toEqual([
        ...['b', 'c', 'd'].map((slug) => ({ do: 'begin-update', slug })),
        { do: 'show-wait', slug: 'a', why, until: null },
      ])
      expect(next([told])).toEqual([])
    })

    test('without an end of its own is told without one, as in maintenance', () => {
      const closed = anEngineAction('a', { held: { holder: 'maintenance', until: '9999-12-31T23:59:59.999Z' } })
      expect(next([closed])).toEqual([{ do: 'show-wait', slug: 'a', why: 'on hold: maintenance; begins when it is free', until: null }])
    })

    test('keeps its phase open, until it is free', () => {
      expect(next([told, anEngineAction('b', { status: 'succeeded' })])).toEqual([])
      expect(next([{ ...told, held: null }])).toEqual([{ do: 'begin-update', slug: 'a' }])
    })

    test('waits for nobody any more once it is free, also while there is no place for it', () => {
      const full = ['b', 'c', 'd'].map((slug) => flying(slug))
      const commands = full.map(({ slug }) => anEngineCommand(`${slug}.1`))
      expect(next([{ ...told, held: null }, ...full], commands)).toEqual([{ do: 'show-wait', slug: 'a', why: null, until: null }])
    })

    test('does not hide a failure of its phase', () => {
      expect(next([told, anEngineAction('b', { status: 'failed' })])).toMatchObject([{ do: 'pause' }])
    })
  })

  describe('a box whose maintenance window is closed', () => {
    const until = '2026-03-30T00:00:00.000Z'
    const closed = anEngineAction('a', { expectedMs: 9000, held: { window: 'Europe/Berlin', until } })
    const why = 'waits for its maintenance window, opens at Mon 2026-03-30 02:00 Europe/Berlin (2026-03-30 00:00 UTC)'

    test('waits and says until when, once, by its own clock and in UTC; it takes no place and keeps its phase open', () => {
      expect(next([closed, anEngineAction('b', { status: 'succeeded' })])).toEqual([{ do: 'show-wait', slug: 'a', why, until }])
      const told = { ...closed, progress: { step: 'wait', detail: why, at: '2026-03-29T00:00:00.000Z' } }
      expect(next([told, anEngineAction('b', { status: 'succeeded' })])).toEqual([])
      const others = ['b', 'c', 'd'].map((slug) => anEngineAction(slug))
      expect(next([told, ...others])).toEqual(['b', 'c', 'd'].map((slug) => ({ do: 'begin-update', slug })))
    })

    test('says what to do when it is never open for long enough', () => {
      const [step] = next([{ ...closed, held: { window: 'UTC', until: null, neededMs: 252_000 } }])
      expect(step).toMatchObject({
        do: 'show-wait',
        why: expect.stringMatching(/needs about 4 min 12 s, .* never open that long. fix: extend it with .*, or .*`--skip`/),
        until: null,
      })
    })
  })

  test.each(['queued', 'paused', 'failed', 'rolled_back', 'done'] as const)('a rollout that is %s starts no further tenant', (status) => {
    expect(next([anEngineAction('a'), flying('b')], [anEngineCommand('b.1')], { status })).toEqual([])
  })
})

describe('a failure', () => {
  const failed = anEngineAction('a', { status: 'failed', error: { code: 'PULL_FAILED', message: 'no such\ntag' } })

  test('is told by the names of its boxes in their order, however a database finds them', () => {
    const failed = ['d', 'b', 'a', 'c'].map((slug) => anEngineAction(slug, { status: slug === 'a' ? 'rolled_back' : 'failed' }))
    const [step] = next(failed)
    expect(step).toMatchObject({
      do: 'pause',
      reason: expect.stringMatching(/a failed and was rolled back; b failed; c failed; and 1 more/),
    })
    expect(next(failed.toReversed())).toEqual([step])
  })

  test('starts no further tenant, and the phase pauses once nothing is in flight', () => {
    expect(next([failed, anEngineAction('b'), flying('c')], [anEngineCommand('c.1')])).toEqual([])
    const [step] = next([failed, anEngineAction('b')])
    expect(step).toMatchObject({ do: 'pause' })
    expect((step as { reason: string }).reason).toBe(
      'canary stopped: a failed (PULL_FAILED: no such tag). Next: resume the rollout to retry it, resume without it (skipFailed), or abort it.',
    )
  })

  test('below the threshold others still begin, but the phase does not advance', () => {
    expect(next([failed, anEngineAction('b')], [], { failureThreshold: 2 })).toEqual([{ do: 'begin-update', slug: 'b' }])
    expect(next([failed, anEngineAction('b', { status: 'succeeded' })], [], { failureThreshold: 2 })).toMatchObject([{ do: 'pause' }])
  })

  test('that was left out blocks nothing', () => {
    expect(next([{ ...failed, waived: true }])).toEqual([{ do: 'advance', from: 'canary' }])
  })

  test('of a restore is not to be tried again by a resume', () => {
    const [step] = next([{ ...failed, status: 'rollback_failed' }])
    expect((step as { reason: string }).reason).toMatch(/could not be rolled back; it is stopped.*Next: repair by hand.*skipFailed/)
  })
})

describe('a command', () => {
  test.each([
    ['observe', 'preflight-update'],
    ['prefetch', 'order-update'],
    ['update', 'evaluate-update'],
  ] as const)('%s that succeeded leads to %s', (step, does) => {
    const done = anEngineCommand('a.1', { status: 'succeeded', taken: true, result: { some: 'thing' } })
    expect(next([flying('a', { step })], [done])).toEqual([{ do: does, slug: 'a', commandId: 'a.1', result: { some: 'thing' } }])
  })

  test('is followed after the rollout is over', () => {
    const done = anEngineCommand('a.1', { status: 'succeeded', taken: true, result: {} })
    expect(next([flying('a', { step: 'update' })], [done], { status: 'failed' })).toMatchObject([{ do: 'evaluate-update' }])
  })

  test('that failed ends its attempt with the agent’s words', () => {
    const error = { code: 'PULL_FAILED', message: 'no such tag' }
    expect(next([flying('a')], [anEngineCommand('a.1', { status: 'failed', taken: true, error })])).toEqual([
      { do: 'fail-update', slug: 'a', commandId: 'a.1', error },
    ])
  })

  test('that nobody fetched in time says that the host is offline', () => {
    expect(next([flying('a', { step: 'update' })], [anEngineCommand('a.1', { status: 'expired' })])).toMatchObject([
      { do: 'fail-update', error: { code: 'HOST_OFFLINE', message: expect.stringContaining('the agent of host-of-a never') } },
    ])
  })

  test('that may still change the box is never given up: it is overdue, once', () => {
    const lost = anEngineCommand('a.1', { status: 'expired', taken: true, error: { code: 'COMMAND_EXPIRED', message: 'late' } })
    const action = flying('a', { status: 'updating', step: 'update' })
    expect(next([action], [lost])).toEqual([{ do: 'mark-overdue', slug: 'a', commandId: 'a.1' }])
    expect(next([{ ...action, overdue: true }], [lost])).toEqual([])
    expect(next([flying('a', { step: 'prefetch' })], [lost])).toMatchObject([{ do: 'fail-update', error: { code: 'COMMAND_EXPIRED' } }])
  })

  test('whose answer came after it expired is judged all the same', () => {
    const late = anEngineCommand('a.1', { status: 'expired', taken: true, result: { outcome: 'committed' } })
    expect(next([flying('a', { step: 'update', overdue: true })], [late], { status: 'failed' })).toMatchObject([{ do: 'evaluate-update' }])
  })

  test('shows where it stands by all that it told, and says nothing twice', () => {
    const steps = ['prefetch', 'fence', 'stop', 'snapshot'].map((step) => ({ step, at: '2026-01-05T02:00:00.000Z' }))
    const action = flying('a', { status: 'pulling', step: 'update' })
    const running = anEngineCommand('a.1', { status: 'running', taken: true, progress: steps })
    const progress = steps.at(-1) ?? null
    expect(next([action], [running])).toEqual([{ do: 'show-progress', slug: 'a', commandId: 'a.1', status: 'snapshotting', progress }])
    expect(next([{ ...action, status: 'snapshotting', progress }], [running])).toEqual([])
  })
})

describe('a committed update', () => {
  const result = {
    outcome: 'committed',
    healthOk: true,
    digestsAfter: { synapse: 'sha256:new' },
    error: null,
  } as unknown as Parameters<typeof evaluateUpdate>[0]

  test('counts only with the planned digests running and the box proven healthy', () => {
    expect(evaluateUpdate(result, { synapse: 'sha256:new' }).status).toBe('succeeded')
    expect(evaluateUpdate(result, { synapse: 'sha256:other' }).error?.code).toBe('DIGEST_MISMATCH')
    expect(evaluateUpdate(result, { postgres: 'sha256:new' }).error?.code).toBe('DIGEST_MISMATCH')
    expect(evaluateUpdate({ ...result, healthOk: false }, { synapse: 'sha256:new' }).error?.code).toBe('PROBE_FAILED')
  })

  test.each(['failed', 'rolled_back', 'rollback_failed'] as const)('%s is what the agent says', (outcome) => {
    const error = { code: 'PROBE_FAILED', message: 'no sync' }
    expect(evaluateUpdate({ ...result, digestsBefore: {}, outcome, error }, {})).toEqual({ status: outcome, error })
  })

  test.each([
    ['the image from before', { synapse: 'sha256:old' }, { synapse: 'sha256:old' }, 'rolled_back'],
    ['another one', { synapse: 'sha256:old' }, { synapse: 'sha256:new' }, 'failed'],
    ['one that was in no registry', { synapse: null }, { synapse: 'sha256:new' }, 'rolled_back'],
    ['one that could not be looked at', { synapse: 'sha256:old' }, {}, 'rolled_back'],
  ] as const)('taken back counts as that unless it is known better: with %s', (_, digestsBefore, digestsAfter, status) => {
    const error = { code: 'PROBE_FAILED', message: 'no sync' }
    const told = evaluateUpdate({ ...result, outcome: 'rolled_back', error, digestsBefore, digestsAfter }, {})
    expect(told.status).toBe(status)
    expect(told.error?.code).toBe(status === 'failed' ? 'DIGEST_MISMATCH' : 'PROBE_FAILED')
  })
})
