import { describe, expect, test } from 'vitest'
import { formatStreamMessage } from '../../../src/core/contract/index.ts'
import type { PlannedRollback, RollbackPlan, RolloutAction } from '../../../src/core/rollouts/index.ts'
import { type Answers, tenantry } from '../../support/command-line.ts'
import { anAction, anEvent, aRollout, aRolloutDetail, at, rolloutId } from '../../support/records.ts'

const path = `/admin/tenant-boxes/rollouts/${rolloutId}`
const now = { migrationsHead: '0000', postgres: '17.6', synapse: '1.163.2', minio: 'RELEASE.2025-09-07T16-13-09Z' }

const aBox = (tenantSlug: string, given: Partial<PlannedRollback> = {}): PlannedRollback => ({
  tenantSlug,
  boxId: `box_${tenantSlug}`,
  hostId: 'host_1',
  hostName: 'host-1',
  does: 'rollback',
  from: now,
  to: { ...now, synapse: '1.157.1' },
  images: {},
  snapshotId: null,
  losesSince: null,
  losesMs: 0,
  findings: [],
  ...given,
})
const bySnapshot = { snapshotId: '3f2a91c0aa', losesSince: at('14:02:00'), losesMs: (3 * 60 + 12) * 60_000 }
const refused = aBox('b', { does: 'refuse', findings: [{ severity: 'refuse', code: 'SCHEMA_TOO_NEW', message: 'b cannot be read' }] })

function aPlan(mode: RollbackPlan['mode'], ...boxes: PlannedRollback[]): RollbackPlan {
  const rollbacks = boxes.filter(({ does }) => does === 'rollback').length
  return { rolloutId, mode, madeAt: at('17:14:00'), boxes, rollbacks, refusals: boxes.length - rollbacks }
}

const rollbackAs = (status: 'pending' | 'running' | 'done' | 'failed', error: RolloutAction['error'] = null) =>
  ({ mode: 'images', status, error }) as const
const counted = (status: 'pending' | 'done' | 'failed') => ({
  ...aRollout().counts,
  rollback: { total: 1, pending: 0, running: 0, done: 0, failed: 0, [status]: 1 },
})
const rolledBack = aRollout({ status: 'rolled_back', error: 'bad', counts: counted('pending') })

const answers = (plan: RollbackPlan, more: Answers = {}): Answers => ({
  [`POST ${path}/rollback/plan`]: plan,
  [`POST ${path}/rollback`]: rolledBack,
  ...more,
})
const rollback = ['rollouts', 'rollback', rolloutId]

describe('the plan of a rollback', () => {
  test('by images shows version changes and that no data is lost', async () => {
    const { stdout, exit, asked } = await tenantry([...rollback, '--boxes', 'images', '--plan'], {
      answers: answers(aPlan('images', aBox('a'), refused)),
      columns: 120,
    })
    expect(exit).toBe(0)
    expect(stdout).toContain('synapse 1.163.2 → 1.157.1')
    expect(stdout).toMatch(/No data is lost\./)
    expect(stdout).toContain('Boxes whose update finishes later are rolled back too.')
    expect(stdout).toContain('b: b cannot be read [SCHEMA_TOO_NEW]')
    expect(asked.map(({ path }) => path)).toEqual([`${path}/rollback/plan`])
  })

  test('by snapshot shows since when data is lost, and for how long', async () => {
    const { stdout } = await tenantry([...rollback, '--boxes', 'snapshot', '--plan'], {
      answers: answers(aPlan('snapshot', aBox('a', bySnapshot))),
      columns: 140,
    })
    expect(stdout).toContain('2026-01-05 14:02 UTC')
    expect(stdout).toContain('3 h 12 min')
    expect(stdout).toMatch(/DATA LOSS: messages, files and accounts created since the update \(2026-01-05 14:02 UTC\), 3 h 12 min\./)
  })

  test('names an unfinished rollout with its boxes, and nothing is asked or changed', async () => {
    const other = { rolloutId: 'ro_00000000000000000002', status: 'paused' as const, slugs: ['a'] }
    const active = answers({ ...aPlan('images', aBox('a')), activeRollouts: [other] })
    const says = 'rollout ro_00000000000000000002 (paused) has not finished and includes a'
    const plan = await tenantry([...rollback, '--boxes', 'images', '--plan'], { answers: active })
    expect([plan.exit, plan.stdout]).toEqual([0, expect.stringContaining(says)])
    const ran = await tenantry([...rollback, '--boxes', 'images', '--reason', 'bad', '--yes'], { answers: active })
    expect([ran.exit, ran.stderr]).toEqual([5, expect.stringContaining(`${says}; nothing was changed`)])
    expect(ran.asked.some(({ path }) => path.endsWith('/rollback'))).toBe(false)
  })

  test('without boxes is a usage error', async () => {
    const ran = await tenantry([...rollback, '--plan'], { answers: {} })
    expect(ran.exit).toBe(2)
  })
})

describe('rolling back', () => {
  test('shows the plan on stderr, then sends the reason', async () => {
    const ran = await tenantry([...rollback, '--boxes', 'images', '--reason', 'bad', '--yes'], {
      answers: answers(aPlan('images', aBox('a'))),
    })
    expect(ran.exit).toBe(0)
    expect(ran.stderr).toContain('1 box to roll back by images')
    expect(ran.asked.at(-1)?.body).toEqual({ reason: 'bad', boxes: 'images', skipRefused: false })
    expect(ran.stdout).toMatch(/status +rolling back \(0 of 1\)/)
  })

  test('with blocked boxes changes nothing without --skip-refused', async () => {
    const both = answers(aPlan('images', aBox('a'), refused))
    const ran = await tenantry([...rollback, '--boxes', 'images', '--reason', 'bad', '--yes'], { answers: both })
    expect(ran.exit).toBe(5)
    expect(ran.stderr).toContain('--skip-refused')
    expect(ran.asked.some(({ path }) => path.endsWith('/rollback'))).toBe(false)
    const left = await tenantry([...rollback, '--boxes', 'images', '--reason', 'bad', '--skip-refused', '--yes'], { answers: both })
    expect(left.asked.at(-1)?.body).toMatchObject({ skipRefused: true })
  })

  test('by snapshot requires the typed id, or --yes in a script', async () => {
    const plan = answers(aPlan('snapshot', aBox('a', bySnapshot)))
    const ran = await tenantry([...rollback, '--boxes', 'snapshot', '--reason', 'bad'], { answers: plan })
    expect(ran.exit).toBe(2)
    expect(ran.stderr).toContain('--yes')
    expect(ran.asked.some(({ path }) => path.endsWith('/rollback'))).toBe(false)
  })

  test('requires a reason, and a mode: none is the default', async () => {
    expect((await tenantry([...rollback, '--boxes', 'images', '--yes'], { answers: {} })).exit).toBe(2)
    const ran = await tenantry([...rollback, '--reason', 'bad', '--yes'], { answers: {} })
    expect([ran.exit, ran.asked]).toEqual([2, []])
    expect(ran.stderr.replace(/\s+/g, ' ')).toContain(
      `--boxes is required: it says what happens to the updated boxes (none keeps them). fix: preview \`tenantry rollouts rollback ${rolloutId} --boxes images --plan\``,
    )
  })

  test('counts boxes that run the previous versions already', async () => {
    const back = aBox('b', { does: 'skip' })
    const { stdout } = await tenantry([...rollback, '--boxes', 'images', '--plan'], {
      answers: answers({ ...aPlan('images', aBox('a')), boxes: [aBox('a'), back] }),
    })
    expect(stdout).toContain('Already at the previous versions (1): b')
    const all = await tenantry([...rollback, '--boxes', 'images', '--plan'], { answers: answers({ ...aPlan('images'), boxes: [back] }) })
    expect(all.stdout).toContain('No other box is to be rolled back.')
  })
})

describe('--wait', () => {
  const story = (ends: 'done' | 'failed'): Answers => {
    const error = ends === 'failed' ? { code: 'PULL_FAILED', message: 'no such image' } : null
    const action = (status: RolloutAction['status'], way: Parameters<typeof rollbackAs>[0]) =>
      anAction('a', { status, rollback: rollbackAs(way, way === 'failed' ? error : null) })
    const steps = [action('rolling_back', 'running'), action(ends === 'done' ? 'rolled_back' : 'succeeded', ends)]
    const events = steps.map((step, n) =>
      formatStreamMessage({ id: `${8 + n}`, event: 'rollout.action', data: anEvent({ action: step, status: 'rolled_back' }) }),
    )
    return answers(aPlan('images', aBox('a')), {
      [`GET ${path}`]: [
        aRolloutDetail([action('succeeded', 'pending')], { status: 'rolled_back', counts: counted('pending') }),
        aRolloutDetail([steps[1] as RolloutAction], { status: 'rolled_back', counts: counted(ends) }),
      ],
      [`GET ${path}/events`]: () => new Response(`: open\n\n${events.join('')}`, { headers: { 'content-type': 'text/event-stream' } }),
    })
  }

  test.each([
    ['done', 0, 'a  rolled back'],
    ['failed', 1, 'a  rollback failed: no such image [PULL_FAILED]'],
  ] as const)('waits past the end of the rollout until its boxes are rolled back: %s exits %i', async (ends, exit, line) => {
    const ran = await tenantry([...rollback, '--boxes', 'images', '--reason', 'bad', '--yes', '--wait'], { answers: story(ends) })
    expect(ran.stderr).toContain('a  rolling back')
    expect(ran.stderr).toContain(line)
    expect(ran.exit).toBe(exit)
  })
})

test('a stalled rollback is resumed, or stopped with a reason', async () => {
  const resumed = await tenantry(['rollouts', 'rollback', rolloutId, '--resume'], {
    answers: { [`POST ${path}/rollback/resume`]: rolledBack },
  })
  expect(resumed.exit).toBe(0)
  const stopped = await tenantry(['rollouts', 'rollback', rolloutId, '--stop', '--reason', 'by hand', '--yes'], {
    answers: { [`POST ${path}/rollback/stop`]: rolledBack },
  })
  expect(stopped.asked.at(-1)?.body).toEqual({ reason: 'by hand' })
  const wrong = [[], ['--resume', '--stop'], ['--stop', '--yes'], ['--resume', '--plan'], ['--resume', '--boxes', 'images']]
  for (const args of wrong) expect((await tenantry(['rollouts', 'rollback', rolloutId, ...args], { answers: {} })).exit).toBe(2)
})

test('a stalled box and the pending ones are shown with the next commands', async () => {
  const stalled = anAction('a', { status: 'rollback_failed', rollback: rollbackAs('failed', { code: 'RESTORE_FAILED', message: 'no' }) })
  const waiting = anAction('b', { status: 'succeeded', rollback: rollbackAs('pending') })
  const { stdout } = await tenantry(['rollouts', 'show', rolloutId, '--boxes'], {
    answers: { [`GET ${path}`]: aRolloutDetail([stalled, waiting], { status: 'rolled_back' }) },
    columns: 140,
  })
  expect(stdout).toContain('rollback pending')
  expect(stdout).toContain(`tenantry rollouts rollback ${rolloutId} --resume`)
  expect(stdout).toContain(`tenantry rollouts rollback ${rolloutId} --stop`)
})
