import fc from 'fast-check'
import { expect, test } from 'vitest'
import { type ActionStatus, awaitsRollback, type EngineAction, isInFlight, planRollbackSteps } from '../../../src/core/rollouts/index.ts'
import { anEngineAction, anEngineCommand } from '../../support/rollouts.ts'

const limits = { parallel: 3, perHost: 1 }
const none = new Map()
const rollback = (status: 'pending' | 'running' | 'done' | 'failed', mode: 'images' | 'snapshot' = 'images') => ({
  mode,
  status,
  error: null,
})
const updated = (slug: string, minute: number, change: Partial<EngineAction> = {}) =>
  anEngineAction(slug, { status: 'succeeded', rollback: rollback('pending'), finishedAt: `2026-01-05T02:0${minute}:00.000Z`, ...change })
const goingBack = (slug: string, change: Partial<EngineAction> = {}) =>
  anEngineAction(slug, { status: 'rolling_back', rollback: rollback('running'), step: 'observe', commandId: `cmd-${slug}`, ...change })
const begun = (actions: readonly EngineAction[]) =>
  planRollbackSteps(actions, none, limits).flatMap((step) => (step.do === 'begin-rollback' ? [step.slug] : []))

test('the last that was updated goes first, at most three together', () => {
  expect(begun([updated('a', 1), updated('b', 4), updated('c', 2), updated('d', 3)])).toEqual(['b', 'd', 'c'])
  expect(begun([updated('a', 1), goingBack('b'), goingBack('c')])).toEqual(['a'])
  expect(begun([updated('a', 1), goingBack('b'), goingBack('c'), goingBack('d')])).toEqual([])
})

test('one per host, and an update that is still under way keeps its place', () => {
  expect(begun([updated('a', 1, { hostId: 'h' }), updated('b', 2, { hostId: 'h' })])).toEqual(['b'])
  const late = anEngineAction('late', {
    status: 'probing',
    rollback: rollback('pending'),
    step: 'update',
    commandId: 'cmd-late',
    hostId: 'h',
  })
  expect(begun([updated('a', 1, { hostId: 'h' }), updated('b', 2), late])).toEqual(['b'])
})

test('a held box takes no place and says once for whom it waits; its last word of the update is no waiting', () => {
  const held = updated('a', 2, { held: { holder: 'move:1', until: '9999' }, progress: { step: 'commit', at: '' } })
  const steps = planRollbackSteps([held, updated('b', 1)], none, limits)
  expect(steps.map((step) => step.do)).toEqual(['begin-rollback', 'show-rollback-wait'])
  const why = steps[1]?.do === 'show-rollback-wait' ? (steps[1].why ?? '') : ''
  expect(why).toContain('move 1')
  expect(planRollbackSteps([{ ...held, progress: { step: 'wait', detail: why, at: '' } }], none, limits)).toEqual([])
})

test('what stays as it is, is back already, or has never been updated is not begun', () => {
  const others: EngineAction[] = [
    updated('a', 1, { rollback: null }),
    updated('b', 1, { rollback: rollback('failed') }),
    updated('c', 1, { status: 'rolled_back', rollback: rollback('done') }),
    updated('d', 1, { status: 'cancelled', rollback: null }),
    updated('e', 1, { status: 'rollback_failed', rollback: null }),
  ]
  expect(planRollbackSteps(others, none, limits)).toEqual([])
})

test('a box that came to rest on its way back stops the others until somebody has passed over it', () => {
  const atRest = updated('a', 9, { status: 'rollback_failed', rollback: rollback('failed') })
  expect(begun([atRest, updated('b', 1)])).toEqual([])
  expect(begun([{ ...atRest, waived: true }, updated('b', 1)])).toEqual(['b'])
  // One that its own update left at rest was passed over when the rollout was rolled back.
  expect(begun([{ ...atRest, rollback: null }, updated('b', 1)])).toEqual(['b'])
})

test.each([
  ['observe', 'preflight-rollback'],
  ['prefetch', 'order-rollback'],
  ['update', 'evaluate-rollback'],
  ['restore', 'evaluate-rollback'],
] as const)('what "%s" brought leads to %s; of an update under way it means what it always did', (step, does) => {
  const command = anEngineCommand('cmd-a', { status: 'succeeded', taken: true, result: {} })
  const commands = new Map([['cmd-a', command]])
  expect(planRollbackSteps([goingBack('a', { step })], commands, limits)).toMatchObject([{ do: does, slug: 'a', commandId: 'cmd-a' }])
  const update = anEngineAction('a', { status: 'updating', rollback: rollback('pending'), step: 'update', commandId: 'cmd-a' })
  expect(planRollbackSteps([update], commands, limits)).toMatchObject([{ do: 'evaluate-update' }])
})

test('a restore that an agent took is ended by nothing but its own answer; what nobody fetched ends', () => {
  const expired = anEngineCommand('cmd-a', { status: 'expired', taken: true })
  const restoring = goingBack('a', { step: 'restore' })
  expect(planRollbackSteps([restoring], new Map([['cmd-a', expired]]), limits)).toMatchObject([{ do: 'mark-overdue' }])
  expect(planRollbackSteps([{ ...restoring, overdue: true }], new Map([['cmd-a', expired]]), limits)).toEqual([])
  const unfetched = new Map([['cmd-a', { ...expired, taken: false }]])
  expect(planRollbackSteps([restoring], unfetched, limits)).toMatchObject([{ do: 'fail-rollback', error: { code: 'HOST_OFFLINE' } }])
})

test('whatever stands where: never more than the limits, never a box that is not to go back, none while one rests', () => {
  const anAction = fc.record({
    status: fc.constantFrom<ActionStatus>(
      'succeeded',
      'succeeded',
      'rolling_back',
      'probing',
      'rolled_back',
      'rollback_failed',
      'failed',
      'cancelled',
    ),
    rollback: fc.option(fc.constantFrom('pending' as const, 'pending' as const, 'running' as const, 'done' as const, 'failed' as const)),
    host: fc.nat(4),
    minute: fc.nat(9),
    held: fc.boolean(),
    waived: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.array(anAction, { maxLength: 15 }), (all) => {
      const actions = all.map(({ rollback: status, host, held, minute, ...rest }, n) =>
        updated(`box-${n}`, minute, {
          ...rest,
          hostId: `h${host}`,
          rollback: status && rollback(status),
          held: held ? { holder: 'move:1', until: '9999' } : null,
        }),
      )
      const flying = actions.filter(({ status }) => isInFlight(status))
      const begin = actions.filter(({ slug }) => begun(actions).includes(slug))
      if (begin.length > 0) expect(flying.length + begin.length).toBeLessThanOrEqual(3)
      for (const action of begin) {
        expect(awaitsRollback(action) && action.held === null).toBe(true)
        expect([...flying, ...begin].filter(({ hostId }) => hostId === action.hostId)).toHaveLength(1)
      }
      if (actions.some(({ status, rollback: way, waived }) => status === 'rollback_failed' && way && !waived)) expect(begin).toEqual([])
    }),
  )
})
