import { describe, expect, test } from 'vitest'
import type { ManifestGates } from '../../../src/core/boxes/index.ts'
import type { GateAnswer } from '../../../src/core/rollouts/index.ts'
import { applyManifest } from '../../../src/daemon/boxes/index.ts'
import {
  askGates,
  createRollout,
  pauseRollout,
  planEmergency,
  planStaged,
  promoteRollout,
  reportRollout,
  resumeRollout,
  startRollout,
} from '../../../src/daemon/rollouts/testing.ts'
import { aManifest } from '../../support/boxes.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { onBothDialects } from '../../support/databases.ts'
import { rolloutWorld } from '../../support/rollout-world.ts'

const fleet = [{ slug: 'acme', canary: true }, { slug: 'beta' }, { slug: 'magna', plan: 'dedicated' as const }]
const minuteMs = 60_000
const errors = { query: 'sum(errors)', atMost: 0.5, for: '10m' } as const
const missing: GateAnswer = { noAnswer: { code: 'UNREACHABLE', message: 'it does not answer' } }

onBothDialects('a rollout with gates', (fresh) => {
  const world = async (gates: ManifestGates = { errors }) => {
    const { deps: closed, ...world } = await rolloutWorld(await fresh(), fleet)
    await applyManifest(closed, anOperator, { ...aManifest({ synapse: '1.163.2' }), gates })
    /** What Prometheus says of each query, and what it was asked. */
    const says = new Map<string, GateAnswer>()
    const questions: string[] = []
    const prometheus = async (query: string) => {
      questions.push(query)
      return says.get(query) ?? { value: '0' }
    }
    const deps = { ...closed, prometheus }
    const ask = () => askGates(deps, world.signal)
    /** Engine and gates, by turns. */
    const turn = async () => {
      await world.settle()
      await ask()
      await world.settle()
    }
    const later = async (ms: number, stepMs = 30_000) => {
      for (let leftMs = ms; leftMs > 0; leftMs -= stepMs) {
        await world.clock.advance(Math.min(stepMs, leftMs))
        await world.heartbeat()
        await turn()
      }
    }
    const started = async (input: Partial<Parameters<typeof createRollout>[2]> = {}) => {
      const { id } = await createRollout(deps, anOperator, { skipRefused: false, allowLongFence: false, failureThreshold: 1, ...input })
      await startRollout(deps, anOperator, { id })
      await turn()
      return id
    }
    return { ...world, deps, says, questions, ask, turn, later, started }
  }

  test('asks after each phase that others follow, and begins the next one when its gates have held for their time', async () => {
    const { started, later, show, statuses, questions, turn } = await world()
    const id = await started()
    expect(await show(id)).toMatchObject({
      status: 'canary',
      bakeUntil: expect.any(String),
      gates: [{ name: 'errors', state: 'holding', value: '0' }],
    })
    await later(10 * minuteMs - 1000)
    expect(await statuses(id)).toEqual({ acme: 'succeeded', beta: 'pending', magna: 'pending' })
    await later(1000)
    expect(await show(id)).toMatchObject({ status: 'free_5', gates: [{ state: 'waiting', at: null }] })
    await turn()
    expect(await statuses(id)).toMatchObject({ beta: 'succeeded', magna: 'pending' })
    await later(10 * minuteMs)
    expect(await show(id)).toMatchObject({ status: 'done', gates: [{ state: 'waiting', at: null }] })
    expect(new Set(questions)).toEqual(new Set(['sum(errors)']))
    expect(questions).toHaveLength(2 * 21)
  })

  test('asks when the bake is over, and not before', async () => {
    const { started, later, show, questions } = await world()
    const id = await started({ bakeMs: 30 * minuteMs })
    await later(30 * minuteMs - 1000)
    expect({ questions, status: (await show(id)).status }).toEqual({ questions: [], status: 'canary' })
    await later(1000)
    expect(questions).toHaveLength(1)
    await later(10 * minuteMs)
    expect(await show(id)).toMatchObject({ status: 'free_5' })
  })

  test('pauses by one value outside the limits, and begins nothing', async () => {
    const { started, later, show, statuses, says, deps } = await world()
    const id = await started()
    await later(5 * minuteMs)
    says.set('sum(errors)', { value: '0.75' })
    await later(30_000)
    expect(await show(id)).toMatchObject({
      status: 'paused',
      previousStatus: 'canary',
      pauseReason:
        'gates after canary stopped: errors must be at most 0.5 for 10 min and is 0.75. Next: resume the rollout, which bakes and asks ' +
        'again, promote it to continue without, or abort it.',
      gates: [{ name: 'errors', state: 'failed', value: '0.75' }],
    })
    expect(await statuses(id)).toMatchObject({ beta: 'pending', magna: 'pending' })
    const alerts = await deps.db.selectFrom('alerts').select(['kind', 'severity']).where('subject', '=', id).execute()
    expect(alerts).toEqual([{ kind: 'rollout_paused', severity: 'warning' }])
  })

  test('asks anew when it is resumed, and is let go', async () => {
    const { started, later, show, says, questions, turn, deps } = await world({ errors: { query: 'sum(errors)', atMost: 0.5 } })
    says.set('sum(errors)', { value: '1' })
    const id = await started()
    expect(await show(id)).toMatchObject({ status: 'paused' })
    await later(minuteMs)
    expect(questions).toHaveLength(1) // nobody asks for a paused one
    await resumeRollout(deps, anOperator, { id, skipFailed: false })
    expect(await show(id)).toMatchObject({ status: 'canary', gates: [{ state: 'waiting', at: null, value: null }] })
    await turn()
    expect(await show(id)).toMatchObject({ status: 'paused', gates: [{ state: 'failed' }] })
    says.set('sum(errors)', { value: '0' })
    await resumeRollout(deps, anOperator, { id, skipFailed: false })
    await turn()
    expect(await show(id)).toMatchObject({ status: 'free_5' })
  })

  test('is promoted past a gate that stopped it, and past one that is still asked; both are audited', async () => {
    const { started, later, show, says, deps, turn } = await world()
    says.set('sum(errors)', { value: '1' })
    const id = await started()
    await promoteRollout(deps, anOperator, { id })
    expect(await show(id)).toMatchObject({ status: 'free_5', gates: [{ state: 'waiting' }] })
    says.clear()
    await turn()
    await later(minuteMs)
    expect(await show(id)).toMatchObject({ status: 'free_5', gates: [{ state: 'holding' }] })
    await promoteRollout(deps, anOperator, { id })
    const { auditLog, status } = await show(id)
    expect(status).toBe('free_100')
    expect(auditLog.filter(({ action }) => action === 'rollout.promoted')).toMatchObject([
      { actor: 'admin:anna', data: { from: 'canary', to: 'free_5' } },
      { actor: 'admin:anna', data: { from: 'free_5', to: 'free_100' } },
    ])
  })

  describe('without an answer', () => {
    test('pauses after the third question, ten seconds apart', async () => {
      const { started, later, show, says, questions } = await world()
      says.set('sum(errors)', missing)
      const id = await started()
      await later(19_000, 1000)
      expect({ status: (await show(id)).status, questions: questions.length }).toEqual({ status: 'canary', questions: 2 })
      await later(1000)
      expect(await show(id)).toMatchObject({
        status: 'paused',
        pauseReason: expect.stringContaining('errors must be at most 0.5 for 10 min but has no answer (UNREACHABLE: it does not answer)'),
        gates: [{ state: 'unanswered', value: null, noAnswer: { code: 'UNREACHABLE' } }],
      })
    })

    test('goes on where the gate says so', async () => {
      const { started, later, show, says } = await world({ errors: { ...errors, onNoAnswer: 'continue' } })
      says.set('sum(errors)', missing)
      const id = await started()
      await later(20_000, 10_000)
      expect(await show(id)).toMatchObject({ status: 'free_5' })
    })

    test('a daemon that lost its setting says so', async () => {
      const { started, later, deps, clock, settle, show } = await world()
      const id = await started()
      await later(minuteMs)
      for (let n = 0; n < 3; n++) {
        await clock.advance(30_000)
        await askGates({ ...deps, prometheus: undefined }, new AbortController().signal)
      }
      await settle()
      expect(await show(id)).toMatchObject({ status: 'paused', gates: [{ noAnswer: { code: 'NOT_CONFIGURED' } }] })
    })
  })

  test('each question is in its audit log with query, value and time, and the timeline has the last one of each gate', async () => {
    const { started, later, show, says, deps } = await world({ errors: { ...errors, for: '1m' }, boxes: { query: 'boxes', atLeast: 3 } })
    says.set('boxes', { value: '4' })
    const id = await started()
    await later(30_000)
    says.set('sum(errors)', { value: '0.9' })
    await later(10_000)
    const asked = (await show(id)).auditLog.filter(({ action }) => action === 'rollout.gate')
    expect(
      asked.map(({ actor, data: { phase, gate, query, atMost, atLeast, forMs, value, state } }) => [
        actor,
        phase,
        gate,
        query,
        atMost,
        atLeast,
        forMs,
        value,
        state,
      ]),
    ).toEqual([
      ['system:rollouts', 'canary', 'errors', 'sum(errors)', 0.5, null, 60_000, '0', 'holding'],
      ['system:rollouts', 'canary', 'boxes', 'boxes', null, 3, 0, '4', 'passed'],
      ['system:rollouts', 'canary', 'errors', 'sum(errors)', 0.5, null, 60_000, '0', 'holding'],
      ['system:rollouts', 'canary', 'errors', 'sum(errors)', 0.5, null, 60_000, '0.9', 'failed'],
    ])
    expect(asked.every(({ at, data }) => data.askedAt === at)).toBe(true)
    const { timeline } = await reportRollout(deps, { id })
    expect(timeline.filter(({ action }) => action === 'rollout.gate').map(({ reason }) => reason)).toEqual([
      expect.stringMatching(/^boxes: 4 at .*, passed \(at least 3\)$/),
      expect.stringMatching(/^errors: 0\.9 at .*, failed \(at most 0\.5 for 1 min\)$/),
    ])
  })

  test('publishes each answer with all gates', async () => {
    const { started, deps } = await world()
    const id = await started()
    const rows = await deps.db.selectFrom('events').select('payload').where('event_type', '=', 'rollout.gates').execute()
    expect(rows.map(({ payload }) => JSON.parse(payload as string))).toMatchObject([
      { rolloutId: id, status: 'canary', gates: [{ name: 'errors', state: 'holding', value: '0' }] },
    ])
  })

  test('an answer that comes after a pause, or for an earlier bake, is forgotten', async () => {
    const { started, deps, signal, clock, settle, show, later } = await world()
    const id = await started()
    await later(minuteMs)
    await clock.advance(30_000)
    const slow = async (meanwhile: () => Promise<unknown>) => {
      const prometheus = async () => {
        await meanwhile()
        return { value: '9' }
      }
      await askGates({ ...deps, prometheus }, signal)
    }
    await slow(() => pauseRollout(deps, anOperator, { id }))
    expect(await show(id)).toMatchObject({ status: 'paused', gates: [{ state: 'holding', value: '0' }] })
    await resumeRollout(deps, anOperator, { id, skipFailed: false })
    await settle()
    await slow(async () => {
      await clock.advance(1000)
      await pauseRollout(deps, anOperator, { id })
      await resumeRollout(deps, anOperator, { id, skipFailed: false })
      await settle()
    })
    expect(await show(id)).toMatchObject({ status: 'canary', gates: [{ state: 'waiting', at: null }] })
  })

  test('a question that the end of the daemon interrupts counts for nothing', async () => {
    const { started, deps, clock, show } = await world()
    const id = await started()
    await clock.advance(30_000)
    const leaving = new AbortController()
    const prometheus = async () => {
      leaving.abort(new Error('leaving'))
      throw leaving.signal.reason
    }
    await askGates({ ...deps, prometheus }, leaving.signal)
    expect((await show(id)).gates).toMatchObject([{ state: 'holding', missed: 0 }])
  })

  test('an error of one rollout is logged, and the gates of another one are asked', async () => {
    const { started, deps, clock, signal } = await world()
    const id = await started()
    const row = await deps.db.selectFrom('rollouts').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    await deps.db
      .insertInto('rollouts')
      .values({ ...row, id: 'ro_other' })
      .execute()
    await clock.advance(30_000)
    const failed: unknown[] = []
    const log = { ...deps.log, error: (fields: unknown) => void failed.push(fields) } as typeof deps.log
    let asked = 0
    const prometheus = async () => {
      asked += 1
      if (asked === 1) throw new Error('a fault of the program')
      return { value: '0.25' }
    }
    await askGates({ ...deps, log, prometheus }, signal)
    expect(failed).toEqual([{ rolloutId: expect.any(String), err: expect.objectContaining({ message: 'a fault of the program' }) }])
    const stored = await deps.db.selectFrom('rollouts').select('gates').execute()
    expect(stored.map(({ gates }) => JSON.parse(gates ?? '[]')[0].value).sort()).toEqual(['0', '0.25'])
  })

  test('two replicas that ask at the same time count one answer', async () => {
    const { started, deps, clock, signal, show } = await world()
    const id = await started()
    await clock.advance(30_000)
    const inside = { ...deps, prometheus: async () => ({ value: '0.1' }) }
    const prometheus = async () => {
      await askGates(inside, signal)
      return { value: '0.2' }
    }
    await askGates({ ...deps, prometheus }, signal)
    expect((await show(id)).gates).toMatchObject([{ value: '0.1' }])
    expect((await show(id)).auditLog.filter(({ action }) => action === 'rollout.gate')).toHaveLength(2)
  })

  test('keeps its gates through a newer manifest, and what was answered through a kill of the daemon', async () => {
    const { started, deps, later, replica, settle, clock, heartbeat, ask, show } = await world()
    const id = await started()
    await applyManifest(deps, anOperator, aManifest({ synapse: '1.163.2' }))
    await later(9 * minuteMs)
    const next = replica('replica-2')
    await clock.advance(minuteMs)
    await heartbeat()
    await settle(next)
    expect(await show(id)).toMatchObject({ status: 'canary', gates: [{ name: 'errors', state: 'holding' }] })
    await ask()
    await settle(next)
    expect(await show(id)).toMatchObject({ status: 'free_5' })
  })

  test('does not start where the daemon has no Prometheus', async () => {
    const { deps } = await world()
    const { id } = await createRollout(deps, anOperator, { skipRefused: false, allowLongFence: false, failureThreshold: 1 })
    await expect(startRollout({ ...deps, prometheus: undefined }, anOperator, { id })).rejects.toMatchObject({
      code: 'CONFIG',
      message: expect.stringContaining('the manifest has gates (errors), but the daemon has no prometheus.url. fix: '),
    })
  })

  test('is planned with its gates and their time; an emergency has none', async () => {
    const { deps } = await world({ errors, latency: { query: 'latency', atMost: 1, for: '5m', onNoAnswer: 'continue' } })
    const { plan } = await planStaged(deps, { allowLongFence: false })
    const without = await planStaged({ ...deps }, { allowLongFence: false, bakeMs: minuteMs })
    expect(plan.gates).toEqual([
      { name: 'errors', query: 'sum(errors)', atMost: 0.5, atLeast: null, forMs: 600_000, onNoAnswer: 'pause' },
      { name: 'latency', query: 'latency', atMost: 1, atLeast: null, forMs: 300_000, onNoAnswer: 'continue' },
    ])
    expect(without.plan.expectedMs - plan.expectedMs).toBe(2 * minuteMs) // the gates are in both
    expect(plan.expectedMs).toBeGreaterThan(2 * 10 * minuteMs)
    const emergency = await planEmergency(deps, { toChatServer: '1.163.4' })
    expect(emergency.plan.gates).toBeUndefined()
  })
})
