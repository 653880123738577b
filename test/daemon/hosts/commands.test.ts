import { sql } from 'kysely'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type AgentIdentity, connect } from '../../../src/agent/channel/index.ts'
import { isReadOnly } from '../../../src/core/boxes/index.ts'
import { makeClient } from '../../../src/core/contract/index.ts'
import { hostsContract } from '../../../src/core/hosts/index.ts'
import { isoIn, isProblem, type ProblemCode } from '../../../src/core/kit/index.ts'
import type { Tx } from '../../../src/daemon/db/index.ts'
import {
  assertWindows,
  awaitCommand,
  commandById,
  commandSweep,
  commandsByIds,
  enqueueCommand,
  enqueueCommands,
  lockHost,
  stepsOfCommands,
} from '../../../src/daemon/hosts/index.ts'
import { systemRandom } from '../../../src/node/index.ts'
import { emptyDatabase, onBothDialects } from '../../support/databases.ts'
import { aReport, hostWorld, shortTimes } from '../../support/host-world.ts'
import { roundsOf } from '../../support/loops.ts'

const refused = (code: ProblemCode) => expect.toSatisfy((error: unknown) => isProblem(error, code), code)
const silence = { protocolVersion: 1, agentVersion: '0.1.0', engine: null, resources: null, reports: [], holding: [] }
const id = 'r1.b1.1.report'
const good = { ok: true as const, result: { report: aReport() } }

onBothDialects('commands of agents', (fresh) => {
  const setUp = async () => {
    const world = await hostWorld(await fresh())
    const speak = (identity: AgentIdentity) => connect({ clock: world.clock, random: systemRandom, identity })
    const identity = await world.enrol('host-1')
    const agent = speak(identity)
    await agent.hello({ body: silence })
    const hostId = identity.hostId
    const next = async (holding: { id: string; leaseToken: number }[] = []) => (await agent.nextCommand({ body: { holding } })).command
    const admin = makeClient(hostsContract, { baseUrl: world.baseUrl, headers: () => ({ authorization: 'Bearer anna' }) })
    const viewer = makeClient(hostsContract, { baseUrl: world.baseUrl, headers: () => ({ authorization: 'Bearer vera' }) })
    const sweep = roundsOf({ ...world.deps, owner: 'replica-1' }, commandSweep(world.deps))
    /** Advances time for a daemon that sweeps all the time. */
    const pass = async (seconds: number) => {
      await sweep()
      for (let passed = 0; passed < seconds; passed += 5) {
        await world.clock.advance(5000)
        await sweep()
      }
    }
    const stored = (which = id) => commandById(world.deps.db, which)
    return { ...world, speak, identity, agent, hostId, next, admin, viewer, sweep, pass, stored }
  }

  test('a command enqueued twice is one command, and its id is never reused', async () => {
    const { enqueue, hostId, stored } = await setUp()
    await enqueue({ id, hostId })
    await enqueue({ id, hostId })
    expect(await stored()).toMatchObject({ status: 'queued', leaseToken: 0, deadlineAt: '2026-01-05T03:00:01.000Z' })
    await expect(enqueue({ id, hostId, boxId: 'box_2' })).rejects.toEqual(refused('CONFLICT'))
  })

  test('box output is shown to operators only', async () => {
    const { enqueue, hostId, deps, admin, viewer } = await setUp()
    const boxId = 'box_1'
    const payload = { slug: 'elm-school', boxId, ownershipEpoch: 1, services: ['synapse'], lines: 10 }
    await enqueue({ id: 'cmd_logs', hostId, boxId, kind: 'tenant-box.logs', payload } as never)
    await enqueue({ id, hostId })
    const result = { lines: [{ service: 'synapse', line: 'what people write' }] }
    await deps.db
      .updateTable('commands')
      .set({ status: 'succeeded', result: JSON.stringify(result) })
      .execute()
    const shown = async (client: typeof admin, which: string) => (await client.showCommand({ params: { id: which } })).result
    expect([await shown(admin, 'cmd_logs'), await shown(viewer, 'cmd_logs')]).toEqual([result, null])
    expect(await shown(viewer, id)).toEqual(result)
  })

  test('a batch is enqueued like a single command: existing ones stay, and an id of another command refuses the whole batch', async () => {
    const { enqueue, hostId, deps, clock } = await setUp()
    await enqueue({ id: 'cmd_7', hostId, boxId: 'box_7' })
    const kind = 'tenant-box.report_versions' as const
    const many = Array.from({ length: 1200 }, (_, n) => {
      const boxId = `box_${n}`
      return { id: `cmd_${n}`, hostId, boxId, kind, payload: { slug: 'elm-school', boxId, ownershipEpoch: 1 }, deadlineMs: 60_000 }
    })
    const queue = (which: typeof many) => deps.db.transaction().execute((tx) => enqueueCommands(tx, clock, which))
    await queue(many)
    expect((await commandById(deps.db, 'cmd_7')).deadlineAt).toBe('2026-01-05T03:00:01.000Z')
    expect((await commandById(deps.db, 'cmd_8')).deadlineAt).toBe('2026-01-05T02:01:01.000Z')
    const wrong = many.map((one) => ({ ...one, id: one.id === 'cmd_9' ? one.id : `other_${one.id}`, boxId: 'box_1' }))
    await expect(queue(wrong)).rejects.toEqual(refused('CONFLICT'))
    const { count } = await deps.db
      .selectFrom('commands')
      .select((of) => of.fn.countAll().as('count'))
      .executeTakeFirstOrThrow()
    expect(Number(count)).toBe(1200)
  })

  test('a polling agent gets a command as soon as it is enqueued, and its result is stored and handled once', async () => {
    const { enqueue, hostId, next, agent, told, stored } = await setUp()
    const waiting = next()
    await enqueue({ id, hostId })
    expect(await waiting).toMatchObject({ id, kind: 'tenant-box.report_versions', leaseToken: 1, deadlineMs: 3_600_000 })
    expect(await stored()).toMatchObject({ status: 'leased' })
    const call = { params: { id }, body: { leaseToken: 1, outcome: good } }
    expect(await agent.postResult(call)).toEqual({ status: 'succeeded' })
    expect(await agent.postResult(call)).toEqual({ status: 'succeeded' })
    expect(told.results).toHaveLength(1)
    expect(told.results[0]).toMatchObject({ command: { id, status: 'succeeded' }, result: { report: { slug: 'elm-school' } } })
  })

  test('read-only commands are deleted a week after they finish; commands that change a box or belong to a rollout stay', async () => {
    const { deps, enqueue, hostId, clock, sweep } = await setUp()
    const payload = { slug: 'elm-school', boxId: 'box_1', ownershipEpoch: 1 }
    const change = { hostId, boxId: 'box_1', kind: 'tenant-box.adopt', deadlineMs: 600_000 } as const
    await enqueue({ id: 'cmd_old', hostId })
    const question = { ...payload, images: ['registry.example/synapse:v1'], withinMs: 1 }
    await enqueue({ id: 'cmd_tags', hostId, kind: 'tenant-box.resolve_images', payload: question })
    await enqueue({ id: 'ro_1.elm-school.1.observe', hostId })
    const adopt = { ...change, id: 'cmd_adopt', payload: { ...payload, folder: '/srv/elm', project: 'elm' } }
    await deps.db.transaction().execute((tx) => enqueueCommand(tx, clock, adopt))
    const ids = async () => (await deps.db.selectFrom('commands').select('id').orderBy('id').execute()).map((row) => row.id)
    await clock.advance(2 * 3_600_000)
    await sweep()
    await clock.advance(6 * 86_400_000)
    await sweep()
    expect(await ids()).toHaveLength(4)
    await enqueue({ id: 'cmd_new', hostId })
    await clock.advance(2 * 86_400_000)
    await sweep()
    expect(await ids()).toEqual(['cmd_adopt', 'cmd_new', 'ro_1.elm-school.1.observe'])
  })

  test('a result is accepted at once during a renewal, and no progress between two calls is lost', async () => {
    const { enqueue, hostId, next, agent, stored } = await setUp()
    for (let n = 1; n <= 12; n++) {
      const held = { id: `r1.b1.${n}.report`, leaseToken: 1 }
      await enqueue({ id: held.id, hostId })
      await next()
      const tell = (step: string) =>
        agent.postProgress({ params: held, body: { leaseToken: 1, progress: [{ step, at: '2026-01-05T02:00:00.000Z' }] } })
      await Promise.all([tell('a'), tell('b'), agent.heartbeat({ body: { holding: [held] } })])
      expect((await stored(held.id)).progress.map(({ step }) => step).sort()).toEqual(['a', 'b'])
      const beat = agent.heartbeat({ body: { holding: [held] } })
      expect(await agent.postResult({ params: held, body: { leaseToken: 1, outcome: good } })).toEqual({ status: 'succeeded' })
      await beat
    }
  })

  test('a long poll without work returns nothing after 25 s', async () => {
    const { clock, next } = await setUp()
    const waiting = next()
    while (clock.sleepers() === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(25_000)
    expect(await waiting).toBeNull()
  })

  test('a command enqueued by another replica is found by polling', async () => {
    const { deps, clock, told, hostId, next } = await setUp()
    const waiting = next()
    while (clock.sleepers() === 0) await new Promise((resolve) => setImmediate(resolve))
    told.hostOf.set('box_1', hostId)
    const payload = { slug: 'elm-school', boxId: 'box_1', ownershipEpoch: 1 }
    const command = { id, hostId, boxId: 'box_1', kind: 'tenant-box.report_versions', payload, deadlineMs: 60_000 } as const
    await deps.db.transaction().execute((tx) => enqueueCommand(tx, clock, command))
    await deps.bus.poll(deps.db)
    expect((await waiting)?.id).toBe(id)
  })

  test('a box runs one command at a time; other boxes continue', async () => {
    const { enqueue, hostId, next, agent } = await setUp()
    await enqueue({ id: 'a', hostId, boxId: 'box_1', kind: 'tenant-box.healthcheck' })
    await enqueue({ id: 'b', hostId, boxId: 'box_1', kind: 'tenant-box.healthcheck' })
    await enqueue({ id: 'c', hostId, boxId: 'box_2', kind: 'tenant-box.healthcheck' })
    expect((await next())?.id).toBe('a')
    const a = { id: 'a', leaseToken: 1 }
    expect((await next([a]))?.id).toBe('c')
    const failed = { ok: false as const, error: { code: 'BOX_HELD', message: 'somebody has it' } }
    await agent.postResult({ params: { id: 'a' }, body: { leaseToken: 1, outcome: failed } })
    // The `holding` list of an earlier call may still contain a finished command.
    expect((await next([a, { id: 'c', leaseToken: 1 }]))?.id).toBe('b')
  })

  describe('read-only commands', () => {
    const kinds = { report_versions: true, logs: true, resolve_images: true, healthcheck: false, update: false, snapshot: false } as const

    test.each(Object.entries(kinds))('%s: runs beside another command of its box: %s', (kind, beside) => {
      expect(isReadOnly(`tenant-box.${kind}`)).toBe(beside)
    })

    test('are handed out while their box is busy, and block nothing', async () => {
      const { enqueue, hostId, next, agent } = await setUp()
      await enqueue({ id: 'a', hostId, kind: 'tenant-box.healthcheck' })
      expect((await next())?.id).toBe('a')
      await enqueue({ id: 'b', hostId, kind: 'tenant-box.healthcheck' })
      await enqueue({ id: 'q', hostId })
      expect((await next([{ id: 'a', leaseToken: 1 }]))?.id).toBe('q')
      const failed = { ok: false as const, error: { code: 'BOX_HELD', message: 'somebody has it' } }
      await agent.postResult({ params: { id: 'a' }, body: { leaseToken: 1, outcome: failed } })
      expect((await next([{ id: 'q', leaseToken: 1 }]))?.id).toBe('b')
    })

    test('are the only ones for an agent at its limit', async () => {
      const { enqueue, hostId, agent } = await setUp()
      await enqueue({ id: 'a', hostId, kind: 'tenant-box.healthcheck' })
      await enqueue({ id: 'q', hostId })
      const { command } = await agent.nextCommand({ body: { holding: [], room: 'questions' } })
      expect(command?.id).toBe('q')
      expect((await agent.nextCommand({ body: { holding: [{ id: 'q', leaseToken: 1 }] } })).command?.id).toBe('a')
    })
  })

  test('a command whose response was lost is offered again, with a lease that invalidates the first', async () => {
    const { enqueue, hostId, next, agent } = await setUp()
    await enqueue({ id, hostId })
    expect((await next())?.leaseToken).toBe(1)
    expect((await next())?.leaseToken).toBe(2)
    const withFirst = agent.postResult({ params: { id }, body: { leaseToken: 1, outcome: good } })
    await expect(withFirst).rejects.toEqual(refused('NOT_FOUND'))
  })

  test('another host, or a host that the box has left, gets 404 for the command', async () => {
    const { enqueue, enrol, speak, hostId, next, agent, told } = await setUp()
    await enqueue({ id, hostId })
    const thief = speak(await enrol('host-2'))
    await thief.hello({ body: silence })
    await next()
    const params = { id }
    const attempts = (from: typeof agent) => [
      () => from.postResult({ params, body: { leaseToken: 1, outcome: good } }),
      () => from.postProgress({ params, body: { leaseToken: 1, progress: [] } }),
      () => from.commandSecrets({ params, body: { leaseToken: 1 } }),
      () => from.postOutputs({ params, body: { leaseToken: 1, outputs: {} } }),
    ]
    for (const attempt of attempts(thief)) await expect(attempt()).rejects.toEqual(refused('NOT_FOUND'))
    expect((await thief.heartbeat({ body: { holding: [{ id, leaseToken: 1 }] } })).lost).toEqual([id])
    told.hostOf.set('box_1', 'host_elsewhere')
    for (const attempt of attempts(agent)) await expect(attempt()).rejects.toEqual(refused('NOT_FOUND'))
    expect(told.results).toEqual([])
    expect(told.outputs).toEqual([])
  })

  test('a command for a box that has moved is not handed out', async () => {
    const { clock, enqueue, hostId, next, told } = await setUp()
    await enqueue({ id, hostId })
    told.hostOf.set('box_1', 'host_elsewhere')
    const waiting = next()
    while (clock.sleepers() === 0) await new Promise((resolve) => setImmediate(resolve))
    await clock.advance(25_000)
    expect(await waiting).toBeNull()
  })

  test('only the lease owner gets secrets, only those of the kind, and only until the command is finished', async () => {
    const { enqueue, hostId, next, agent, told } = await setUp()
    told.secrets = { snapshots: { repository: 's3:r', password: 'p', env: {} } }
    const targets = { services: {}, migrationsHead: '0000' }
    const payload = { slug: 'elm-school', boxId: 'box_1', ownershipEpoch: 1, targets }
    await enqueue({ id: 'fetch', hostId, kind: 'tenant-box.prefetch', payload } as never)
    await enqueue({ id: 'report', hostId, boxId: 'box_2' })
    const params = { id: 'fetch' }
    await expect(agent.commandSecrets({ params, body: { leaseToken: 1 } })).rejects.toEqual(refused('NOT_FOUND'))
    const held = await next()
    await next([{ id: 'fetch', leaseToken: 1 }])
    expect(held?.payload).toEqual(payload)
    expect(await agent.commandSecrets({ params, body: { leaseToken: 1 } })).toEqual(told.secrets)
    expect(await agent.commandSecrets({ params: { id: 'report' }, body: { leaseToken: 1 } })).toEqual({})
    const failed = { ok: false as const, error: { code: 'PULL_FAILED', message: 'no such tag' } }
    expect(await agent.postResult({ params, body: { leaseToken: 1, outcome: failed } })).toEqual({ status: 'failed' })
    await expect(agent.commandSecrets({ params, body: { leaseToken: 1 } })).rejects.toEqual(refused('NOT_FOUND'))
  })

  test('outputs go to the feature that seals them', async () => {
    const { enqueue, hostId, next, agent, told } = await setUp()
    await enqueue({ id, hostId })
    await next()
    await agent.postOutputs({ params: { id }, body: { leaseToken: 1, outputs: { edgeSecret: 's' } } })
    expect(told.outputs).toEqual([{ edgeSecret: 's' }])
  })

  test('progress makes a command running, keeps the newest steps, and notifies waiting callers', async () => {
    const { deps, enqueue, hostId, next, agent, admin, clock, stored } = await setUp()
    await enqueue({ id, hostId })
    await next()
    const { revision } = await admin.showCommand({ params: { id } })
    const waiting = admin.showCommand({ params: { id }, query: { waitMs: 30_000, seen: revision } })
    while (clock.sleepers() === 0) await new Promise((resolve) => setImmediate(resolve))
    const step = (step: string) => ({ step, at: '2026-01-05T02:00:00.000Z' })
    await agent.postProgress({ params: { id }, body: { leaseToken: 1, progress: [step('pull')] } })
    expect(await waiting).toMatchObject({ status: 'running', hostName: 'host-1', progress: [{ step: 'pull' }] })
    const many = Array.from({ length: 100 }, (_, at) => step(`step-${at}`))
    for (let times = 0; times < 3; times++) await agent.postProgress({ params: { id }, body: { leaseToken: 1, progress: many } })
    expect((await stored()).progress).toHaveLength(200)
    const [{ steps } = { steps: [] }] = await stepsOfCommands(deps.db, [id])
    expect(steps.slice(0, 2).map((told) => told.step)).toEqual(['pull', 'step-0']) // what it began with is not lost
  })

  test('a waiting command shows the state of its host', async () => {
    const { deps, enqueue, hostId, admin, clock } = await setUp()
    await enqueue({ id, hostId })
    const statusOf = async () => (await admin.showCommand({ params: { id } })).hostStatus
    expect(await statusOf()).toBe('online')
    await clock.advance(deps.agents.offlineAfterMs + 1000)
    expect(await statusOf()).toBe('offline')
    await admin.revokeHost({ params: { name: 'host-1' }, body: { reason: 'stolen' } })
    expect(await statusOf()).toBe('revoked')
  })

  test('waiting for a command returns when it is finished', async () => {
    const { deps, enqueue, hostId, next, agent } = await setUp()
    await enqueue({ id, hostId })
    const awaited = awaitCommand(deps, id, new AbortController().signal)
    await next()
    await agent.postResult({ params: { id }, body: { leaseToken: 1, outcome: good } })
    expect((await awaited).status).toBe('succeeded')
    const gone = new AbortController()
    await enqueue({ id: 'second', hostId })
    const unfinished = awaitCommand(deps, 'second', gone.signal)
    gone.abort()
    expect((await unfinished).status).toBe('queued')
  })

  test('a result that is invalid for its kind, or too large, is refused and the command stays open', async () => {
    const { enqueue, hostId, next, agent, stored } = await setUp()
    await enqueue({ id, hostId })
    await next()
    const post = (result: unknown) => agent.postResult({ params: { id }, body: { leaseToken: 1, outcome: { ok: true, result } } })
    await expect(post({ report: { slug: 1 } })).rejects.toEqual(refused('VALIDATION'))
    await expect(post({ report: aReport(), padding: 'x'.repeat(1_100_000) })).rejects.toEqual(refused('PAYLOAD_TOO_LARGE'))
    expect((await stored()).status).toBe('leased')
  })

  test('when the result handler fails, nothing is stored and the agent may deliver again', async () => {
    const { deps, enqueue, hostId, next, agent, stored, told } = await setUp()
    await enqueue({ id, hostId })
    await next()
    const handlers = deps.boxes.resultHandlers as Record<string, unknown>
    const healthy = handlers['tenant-box.report_versions']
    handlers['tenant-box.report_versions'] = () => Promise.reject(new Error('no'))
    const post = () => agent.postResult({ params: { id }, body: { leaseToken: 1, outcome: good } })
    await expect(post()).rejects.toEqual(refused('INTERNAL'))
    expect((await stored()).status).toBe('leased')
    handlers['tenant-box.report_versions'] = healthy
    await post()
    expect(told.results).toHaveLength(1)
  })

  test('the command of a silent agent is offered again, and a returning agent claims it with its former lease', async () => {
    const { enqueue, hostId, next, agent, pass, stored } = await setUp()
    await enqueue({ id, hostId })
    await next()
    await pass(60)
    await agent.heartbeat({ body: { holding: [{ id, leaseToken: 1 }] } })
    await pass(115)
    expect((await stored()).status).toBe('running')
    await pass(5)
    expect((await stored()).status).toBe('queued')
    expect((await agent.heartbeat({ body: { holding: [{ id, leaseToken: 1 }] } })).lost).toEqual([])
    expect(await stored()).toMatchObject({ status: 'running', leaseToken: 1 })
  })

  test('an agent that restarted without the command is offered it at once; commands that it names stay its own', async () => {
    const { speak, identity, enqueue, hostId, next, stored } = await setUp()
    await enqueue({ id, hostId })
    await next()
    await enqueue({ id: 'kept', hostId, boxId: 'box_2' })
    await next([{ id, leaseToken: 1 }])
    const restarted = speak(identity)
    await restarted.hello({ body: { ...silence, holding: [{ id: 'kept', leaseToken: 1 }] } })
    expect((await stored()).status).toBe('queued')
    expect((await stored('kept')).status).toBe('running')
    const { command } = await restarted.nextCommand({ body: { holding: [{ id: 'kept', leaseToken: 1 }] } })
    expect(command).toMatchObject({ id, leaseToken: 2 })
  })

  test('a daemon that was down does not count its own downtime as absence of the agents', async () => {
    const { deps, clock, enqueue, hostId, next, sweep, stored } = await setUp()
    await enqueue({ id, hostId })
    await next()
    await sweep()
    await clock.advance(20 * 60_000)
    const restarted = roundsOf({ ...deps, owner: 'replica-2' }, commandSweep(deps))
    await restarted()
    expect((await stored()).status).toBe('leased')
    await clock.advance(19_000)
    await restarted()
    expect((await stored()).status).toBe('leased')
  })

  test('a command past its deadline expires; its late result is stored and handled, but it stays expired', async () => {
    const { clock, enqueue, hostId, next, agent, sweep, stored, told } = await setUp()
    await enqueue({ id, hostId, deadlineMs: 60_000 })
    await next()
    await clock.advance(60_000)
    await sweep()
    expect(await stored()).toMatchObject({ status: 'expired', error: { code: 'COMMAND_EXPIRED' } })
    expect((await agent.heartbeat({ body: { holding: [{ id, leaseToken: 1 }] } })).lost).toEqual([id])
    const call = { params: { id }, body: { leaseToken: 1, outcome: good } }
    expect(await agent.postResult(call)).toEqual({ status: 'expired' })
    await agent.postResult(call)
    expect(told.results).toHaveLength(1)
    expect(await stored()).toMatchObject({ status: 'expired', result: { report: { slug: 'elm-school' } } })
  })

  test('a renewal with a fast clock is no result; a late result with a slow clock counts', async () => {
    const { deps, clock, enqueue, hostId, next, agent, sweep, stored } = await setUp()
    await enqueue({ id, hostId, deadlineMs: 60_000 })
    await next()
    await clock.advance(60_000)
    const ahead = isoIn(clock, 500)
    await deps.db.updateTable('commands').set({ heard_at: ahead }).where('id', '=', id).execute()
    await sweep()
    expect(await stored()).toMatchObject({ status: 'expired', finishedAt: ahead, heardAt: ahead })
    const outcome = { ok: false as const, error: { code: 'PULL_FAILED', message: 'no such tag' } }
    await agent.postResult({ params: { id }, body: { leaseToken: 1, outcome } })
    const { heardAt, finishedAt } = await stored()
    expect(String(heardAt) > String(finishedAt)).toBe(true)
  })

  test('a box whose command the daemon abandoned is not free while its agent still runs it', async () => {
    const { clock, enqueue, hostId, next, sweep } = await setUp()
    await enqueue({ id, hostId, deadlineMs: 60_000, kind: 'tenant-box.healthcheck' })
    await next()
    await clock.advance(60_000)
    await sweep()
    await enqueue({ id: 'again', hostId, kind: 'tenant-box.healthcheck' })
    await enqueue({ id: 'other', hostId, boxId: 'box_2' })
    expect((await next([{ id, leaseToken: 1 }]))?.id).toBe('other')
  })

  test('a fetched command without contact is abandoned before its deadline; an unfetched one waits', async () => {
    const { enqueue, hostId, next, pass, stored } = await setUp()
    await enqueue({ id, hostId, deadlineMs: 7_200_000 })
    await enqueue({ id: 'waiting', hostId, boxId: 'box_2', deadlineMs: 7_200_000 })
    await next()
    await pass(600)
    expect(await stored()).toMatchObject({ status: 'expired', error: { code: 'HOST_OFFLINE' } })
    expect((await stored('waiting')).status).toBe('queued')
  })

  test('only one replica sweeps', async () => {
    const { deps, clock, enqueue, hostId, sweep, stored } = await setUp()
    await sweep()
    await enqueue({ id, hostId, deadlineMs: 1 })
    await clock.advance(10)
    await roundsOf({ ...deps, owner: 'replica-2' }, commandSweep(deps))()
    expect((await stored()).status).toBe('queued')
    await sweep()
    expect((await stored()).status).toBe('expired')
  })

  test('reports at hello and later reach the boxes feature with the id of their host', async () => {
    const { speak, identity, hostId, told, deps } = await setUp()
    const again = speak(identity)
    await again.hello({ body: { ...silence, reports: [aReport()] } })
    await again.postReports({ body: { reports: [aReport('oak-school')] } })
    expect(told.reports.slice(1).map((one) => [one.hostId, one.reports[0]?.slug])).toEqual([
      [hostId, 'elm-school'],
      [hostId, 'oak-school'],
    ])
    expect(await commandsByIds(deps.db, [])).toEqual([])
  })
})

test('windows that would abandon a command at its second offer are refused at startup', () => {
  expect(() => assertWindows(shortTimes)).not.toThrow()
  expect(() => assertWindows({ ...shortTimes, reapAfterMs: 120_000 })).toThrow(/requeueAfterMs/)
  expect(() => assertWindows({ ...shortTimes, longPollMs: 60_000 })).toThrow(/longPollMs/)
})

test('enqueueing for a host locks its row, and no other transaction locks it meanwhile (postgres)', async () => {
  const { db } = await emptyDatabase('postgres')
  onTestFinished(() => db.destroy())
  const world = await hostWorld(db)
  const { hostId } = await world.enrol('host-1')
  const impatient = (work: (tx: Tx) => Promise<unknown>) =>
    db.transaction().execute(async (tx) => {
      await sql`set local lock_timeout = '500ms'`.execute(tx)
      await work(tx)
    })
  const boxId = 'box_1'
  const payload = { slug: 'elm-school', boxId, ownershipEpoch: 1 }
  const command = { id, hostId, boxId, kind: 'tenant-box.report_versions', payload, deadlineMs: 60_000 } as const
  await db.transaction().execute(async (tx) => {
    await lockHost(tx, hostId)
    await impatient((other) => enqueueCommand(other, world.clock, command))
    await expect(impatient((other) => lockHost(other, hostId))).rejects.toThrow(/lock timeout/)
  })
})
