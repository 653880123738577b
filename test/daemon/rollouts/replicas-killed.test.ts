import { expect, test } from 'vitest'
import { isoNow } from '../../../src/core/kit/index.ts'
import { verifyAudit } from '../../../src/daemon/audit/read-audit.ts'
import { holdsBySlug } from '../../../src/daemon/boxes/index.ts'
import { type HostsDeps, makeCommandBus } from '../../../src/daemon/hosts/index.ts'

import { makeRolloutBus, makeRolloutEngine } from '../../../src/daemon/rollouts/index.ts'
import { resumeRollout } from '../../../src/daemon/rollouts/testing.ts'
import { anOperator } from '../../support/boxes-world.ts'
import { channelAgents } from '../../support/channel-agents.ts'
import { onBothDialects } from '../../support/databases.ts'
import { mortal } from '../../support/dying.ts'
import { shortTimes } from '../../support/host-world.ts'
import { historyOf, violationsIn } from '../../support/rollout-history.ts'
import { type BoxSpec, type Fate, type RolloutWorld, rolloutWorld } from '../../support/rollout-world.ts'

const steps = ['observe', 'prefetch', 'update'] as const
const replicasAtOnce = 3
const boxesPerHost = 5

/** The same numbers for the same seed. */
function seeded(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

const fleetOf = (count: number): BoxSpec[] =>
  Array.from({ length: count }, (_, nth) => ({
    slug: `box-${String(nth).padStart(3, '0')}`,
    host: `host-${2 + Math.floor(nth / boxesPerHost)}`,
    plan: nth % 10 === 9 ? 'dedicated' : nth % 5 === 4 ? 'pro' : 'light',
    canary: nth < 3,
  }))

/** Some do not succeed at the first attempt. */
const failing: Readonly<Record<string, Fate>> = { 'box-001': 'rolls-back', 'box-007': 'fails', 'box-013': 'lies' }

type Replica = Readonly<{ channel: HostsDeps; isDead: () => boolean; tick: () => Promise<unknown> }>

/** A daemon process that will be killed after so many steps, wherever it is then. */
function aReplica(world: RolloutWorld, nth: number, lifeSteps: number): Replica {
  const { db, isDead } = mortal(world.deps.db, lifeSteps)
  const deps = { ...world.deps, db, owner: `replica-${nth}`, bus: makeCommandBus(), rolloutBus: makeRolloutBus() }
  const engine = makeRolloutEngine(deps)
  const channel = { ...deps, baseUrl: 'http://daemon', agents: { ...shortTimes, longPollMs: 0 }, boxes: world.side }
  return { channel, isDead, tick: () => engine.tick(world.signal).catch(() => undefined) }
}

onBothDialects('a rollout driven by replicas that are killed at any statement', (fresh, dialect) => {
  const [count, seed] = dialect === 'postgres' ? [200, 20_261_121] : [60, 4_711]

  test(`brings ${count} boxes to their target, each step once, with nothing untold`, async () => {
    const random = seeded(seed)
    const db = await fresh()
    const boxes = fleetOf(count)
    const world = await rolloutWorld(db, boxes)
    for (const [slug, fate] of Object.entries(failing)) world.fates.set(slug, [fate])
    const id = await world.started({ failureThreshold: 100 })
    const agents = channelAgents(world)

    let born = 0
    const birth = () => aReplica(world, born++, 10 + random(700))
    const replicas = Array.from({ length: replicasAtOnce }, birth)
    const anyReplica = () => (replicas[random(replicasAtOnce)] as Replica).channel
    const agentsWithWork = async () => {
      const hosts = await db.selectFrom('commands').select('host_id').distinct().where('finished_at', 'is', null).execute()
      return hosts.map(({ host_id }) => agents.turn(anyReplica, host_id))
    }
    for (let turn = 0; ; turn++) {
      expect(turn).toBeLessThan(count * 12)
      const { status } = await db.selectFrom('rollouts').select('status').where('id', '=', id).executeTakeFirstOrThrow()
      if (status === 'done') break
      if (status === 'paused') await resumeRollout(world.deps, anOperator, { id, skipFailed: false })
      await db
        .updateTable('hosts')
        .set({ last_seen_at: isoNow(world.clock) })
        .execute()
      await Promise.all([...(await agentsWithWork()), ...replicas.map(({ tick }) => tick())])
      await Promise.all(await agentsWithWork())
      const dead = replicas.flatMap(({ isDead }, at) => (isDead() ? [at] : []))
      for (const at of dead) replicas[at] = birth()
      // What a dead one owned is free then; and one that lives may find that another was faster.
      await world.clock.advance(dead.length > 0 ? 31_000 : 5_000)
    }
    expect(born).toBeGreaterThan(count / 4)

    const attemptsOf = (slug: string) => (slug in failing ? [1, 2] : [1])
    const expected = boxes.flatMap(({ slug }) =>
      attemptsOf(slug).flatMap((attempt) => steps.map((step) => `${id}.${slug}.${attempt}.${step}`)),
    )
    expect(await world.commandIds()).toEqual(expected.sort())
    expect([...agents.effects.keys()].sort()).toEqual(expected)
    expect([...agents.effects].filter(([, times]) => times !== 1)).toEqual([])

    const history = await historyOf(db, id)
    expect(violationsIn(history, { parallel: 3, perHost: 1 })).toEqual([])
    const ends = history.filter(({ event }) => event.action?.status === 'succeeded').map(({ event }) => event.action?.tenantSlug)
    expect(ends.sort()).toEqual(boxes.map(({ slug }) => slug))
    expect((await verifyAudit({ db }, {})).filter(({ ok }) => !ok)).toEqual([])

    const attempts = await db.selectFrom('rollout_attempts').select(['status', 'snapshot_id', 'finished_at']).execute()
    expect(attempts).toHaveLength(boxes.length + Object.keys(failing).length)
    expect(attempts.filter(({ status, snapshot_id }) => status === 'succeeded' && snapshot_id === null)).toEqual([])
    expect(attempts.filter(({ finished_at }) => finished_at === null)).toEqual([])
    expect([...(await holdsBySlug(db, world.clock)).keys()]).toEqual([])
    expect(new Set([...world.installed.values()].map(({ synapse }) => synapse))).toEqual(new Set(['1.163.2']))
  })
})
