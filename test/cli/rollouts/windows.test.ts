import { describe, expect, test } from 'vitest'
import { paintWith } from '../../../src/cli/kit/index.ts'
import { linesOf, openingLines } from '../../../src/cli/rollouts/board/lines.ts'
import { planView } from '../../../src/cli/rollouts/plan.ts'
import { rolloutList, rolloutView } from '../../../src/cli/rollouts/rollout.view.ts'
import { boardModel, openBoard, reduce } from '../../../src/core/rollouts/index.ts'
import { tenantry } from '../../support/command-line.ts'
import { anAction, anEvent, aPlan, aPlannedBox, aRollout, aRolloutDetail, at, rolloutId } from '../../support/records.ts'

// The clock is at Monday, 5 January 2026, 02:00 UTC.

const now = new Date(at('02:00:00'))
const style = { width: 160, paint: paintWith(false), colour: false, now }
const opens = '2026-01-06T01:00:00.000Z'
const why = 'waits for its maintenance window, opens at Tue 2026-01-06 02:00 Europe/Berlin (2026-01-06 01:00 UTC)'
const waiting = anAction('anna-schule', { waitsUntil: opens, progress: { step: 'wait', detail: why, at: at('02:00:00') } })
const window = { opensAt: opens, closesAt: '2026-01-06T04:00:00.000Z' }

describe('a plan with windows', () => {
  const open = { opensAt: at('01:00:00'), closesAt: at('04:00:00') }
  const boxes = [aPlannedBox('anna-schule', { window }), aPlannedBox('beta', { window: open }), aPlannedBox('cora', { window: null })]

  test('shows when each opens, and that the duration starts now', () => {
    const shown = planView(aPlan(boxes), style)
    expect(shown).toMatch(/anna-schule .* in 23 h +.*3 min +\d/m)
    expect(shown).toMatch(/beta .* open +.*3 min +\d/m)
    expect(shown).toMatch(/cora .* - +.*3 min +\d/m)
    expect(shown).toContain('Expected duration: 12 min if started now, maintenance windows included;')
  })

  test('is not shown without windows', () => {
    const shown = planView(aPlan([aPlannedBox('cora', { window: null })]), style)
    expect(shown).not.toMatch(/window/i)
  })
})

describe('a rollout that only waits', () => {
  const rollout = aRollout({ waitingUntil: opens })

  test('shows until when, in the list and in full', () => {
    expect(rolloutList({ rollouts: [rollout], nextCursor: null }, style)).toMatch(/WAITING UNTIL[\s\S]*2026-01-06 01:00 UTC/)
    const shown = rolloutView({ ...aRolloutDetail([waiting]), ...rollout }, style)
    expect(shown).toMatch(/waiting +until 2026-01-06 01:00:00 UTC \(in 23 h\) for a maintenance window/)
    expect(shown).toMatch(/anna-schule .* waits for its maintenance window, opens at Tue/)
  })

  test('does not show a time in the past', () => {
    expect(rolloutView(aRollout({ waitingUntil: at('01:59:59') }), style)).not.toContain('waiting')
  })

  test('logs each box once, and again when the reason changes', () => {
    const before = openBoard(aRolloutDetail([anAction('anna-schule')]))
    const event = { kind: 'event' as const, event: anEvent({ action: waiting, progress: waiting.progress }), receivedAtMs: now.getTime() }
    const after = reduce(before, event)
    expect(linesOf(before, event, after)).toEqual([`02:00:10  anna-schule  ${why}`])
    expect(linesOf(after, event, reduce(after, event))).toEqual([])
    const held = { ...waiting, waitsUntil: null, progress: { step: 'wait', detail: 'held by move x', at: at('02:00:00') } }
    const other = { ...event, event: anEvent({ action: held, progress: held.progress }) }
    expect(linesOf(after, other, reduce(after, other))).toEqual(['02:00:10  anna-schule  held by move x'])
    expect(openingLines(after)).toContain(`anna-schule  ${why}`)
  })

  test('counts waiting boxes on the board, and estimates no end before the opening', () => {
    const later = anAction('beta', { waitsUntil: '2026-01-06T03:00:00.000Z' })
    const model = boardModel(openBoard(aRolloutDetail([waiting, later])), now.getTime())
    expect(model.waiting).toEqual({ boxes: 2, until: opens })
    expect(model.etaMs).toBe(25 * 3_600_000 + 240_000)
    expect(boardModel(openBoard(aRolloutDetail([waiting])), Date.parse(opens)).waiting).toBeUndefined()
    expect(boardModel(openBoard(aRolloutDetail([waiting], { status: 'paused' })), now.getTime()).waiting).toBeUndefined()
  })
})

test('--ignore-windows works with plan and create, and is shown with the rollout', async () => {
  const answers = {
    'POST /admin/tenant-boxes/rollouts/plan': aPlan([aPlannedBox('anna-schule')]),
    'POST /admin/tenant-boxes/rollouts': aRolloutDetail([anAction('anna-schule')], { status: 'queued', ignoreWindows: true }),
  }
  const plan = await tenantry(['rollouts', 'plan', '--ignore-windows'], { answers })
  expect(plan.asked[0]?.body).toMatchObject({ ignoreWindows: true })
  const created = await tenantry(['rollouts', 'create', '--ignore-windows'], { answers })
  expect(created.asked[0]?.body).toMatchObject({ ignoreWindows: true })
  expect(created.stdout).toContain(rolloutId)
  expect(created.stdout).toMatch(/windows +ignored/)
})

test('a box that waits in the middle of its update shows why: in the table, on the board and once in the log', () => {
  const reason = 'the lock of another restic, PID 7 on host-1, on file:/srv/oak (fails after 10m)'
  const progress = { step: 'waiting', detail: reason, at: at('02:00:00') }
  const action = anAction('anna-schule', { status: 'snapshotting', progress })
  expect(rolloutView(aRolloutDetail([action]), style)).toMatch(/WAITING FOR[\s\S]*anna-schule .*the lock of another restic, PID 7/)
  const state = openBoard(aRolloutDetail([action], { status: 'canary' }))
  expect(boardModel(state, now.getTime()).running).toMatchObject([{ step: 'snapshotting', detail: `waiting: ${reason}` }])
  expect(openingLines(state)).toContain(`anna-schule  snapshotting: waiting: ${reason}`)
  const ended = anAction('anna-schule', { status: 'succeeded', progress })
  expect(rolloutView(aRolloutDetail([ended]), style)).not.toContain('restic')
})
