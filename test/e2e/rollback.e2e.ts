import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BoxCommandKind, BoxCommandPayload, HostId } from '../../src/core/boxes/index.ts'
import { isProblem } from '../../src/core/kit/index.ts'
import { applyManifest, applyReports } from '../../src/daemon/boxes/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import type { Command } from '../../src/daemon/hosts/index.ts'
import { planRollback } from '../../src/daemon/rollouts/testing.ts'
import { aProvision } from '../agent/boxes/provisioning.ts'
import { anOperator } from '../support/boxes-world.ts'
import { emptyDatabase } from '../support/databases.ts'
import { type RolloutWorld, rolloutWorld } from '../support/rollout-world.ts'
import { sendMessage, sync } from '../testbed/matrix-client.ts'
import { readTestbed, type TestbedImageKey, testbedExists } from '../testbed/testbed.ts'
import { type AgentRooms, agentRooms } from './support/agent-rooms.ts'
import { type Conversation, converse, reachableBox } from './support/conversation.ts'
import { boxPorts } from './support/ports.ts'
import { eventually } from './support/programs.ts'

// The engine of rollouts over the agent's own executors: real engine, real servers, real restic; only the network between them is left out.
describe.skipIf(!testbedExists())('a rollout over real boxes that is rolled back', () => {
  const near = `un-near-${process.pid}`
  const far = `un-far-${process.pid}`
  /** Never begun: it keeps the rollout of a box from being done. Each rollout has its own, because a box is in one active rollout only. */
  const lastBeside = (slug: string) => `${slug}-last`
  const probe = { consecutive: 2, spacingMs: 300, timeoutMs: 60_000 }
  let db: Db
  let agent: AgentRooms
  let world: RolloutWorld
  const talks = new Map<string, Conversation>()
  const rollouts = new Map<string, string>()
  const talkIn = (slug: string) => talks.get(slug) as Conversation
  const rolloutOf = (slug: string) => rollouts.get(slug) as string

  beforeAll(async () => {
    db = (await emptyDatabase('sqlite')).db
    agent = await agentRooms('un')
    world = await rolloutWorld(
      db,
      [
        { slug: near, canary: true },
        { slug: far, canary: true },
        { slug: lastBeside(near), plan: 'pro' },
        { slug: lastBeside(far), plan: 'pro' },
      ],
      {},
      { probe },
    )
    await applyManifest(world.deps as never, anOperator, realManifest('1.163.2'))
    const { postgres, minio } = readTestbed().images
    await db.updateTable('boxes').set({ installed_postgres: postgres.tag, installed_minio: minio.tag }).execute()
    await Promise.all([provision(near, 'synapse-1.157.1', boxPorts()), provision(far, 'synapse-1.97.0', boxPorts())])
    await updated(near)
    // A release that cannot be rolled back by image requires finished background updates of the former one.
    await settledIn(far)
    await updated(far)
    // And no former one knows what a later one begins.
    await settledIn(near)
  })
  afterAll(async () => {
    await agent?.end()
    await db?.destroy()
  })

  /** Updates the box in a rollout that is then held. Throws the error of the box where its update does not succeed. */
  async function updated(slug: string): Promise<void> {
    const id = await world.started({ targetSlugs: [slug, lastBeside(slug)], holdAfter: 'canary' })
    rollouts.set(slug, id)
    await drive()
    const { status, pauseReason } = await world.show(id)
    const action = await actionOf(slug)
    if (action?.status !== 'succeeded')
      throw new Error(`${id} is ${status} (${pauseReason}); ${slug} is ${action?.status}: ${JSON.stringify(action?.error)}`)
  }

  /** Waits until the agent reports no pending background updates. */
  const settledIn = (slug: string) =>
    eventually(
      `the background updates of ${slug} are done`,
      async () => {
        const question = { slug, boxId: `box_${slug}`, ownershipEpoch: 1 }
        const { report } = await agent.executors['tenant-box.report_versions'](agent.contextOf('report').context, question)
        await db.transaction().execute((tx) => applyReports({ tx, clock: world.deps.clock }, `hst_host-of-${slug}` as HostId, [report]))
        return report.facts?.backgroundUpdates?.length === 0
      },
      { timeoutMs: 180_000, everyMs: 1_000 },
    )

  const realManifest = (synapse: string) => {
    const { images, registry } = readTestbed()
    const at = (name: string, tag: string) => `${registry}/tenantry/${name}:${tag}`
    const tier = { migrationsHead: '0000', postgres: images.postgres.tag, synapse, minio: images.minio.tag }
    const [edge, postgres, minio] = [images.edge.ref, at('postgres', '{version}'), at('minio', '{version}')]
    return { images: { edge, synapse: at('synapse', 'v{version}'), postgres, minio }, tiers: { free: tier, pro: tier, enterprise: tier } }
  }

  async function provision(slug: string, synapse: TestbedImageKey, ports: BoxCommandPayload<'tenant-box.provision'>['ports']) {
    const { images } = readTestbed()
    const order = aProvision({
      slug,
      boxId: `box_${slug}`,
      chatDomain: `${slug}.test`,
      publicUrl: `http://127.0.0.1:${ports.public}`,
      images: { edge: images.edge.ref, synapse: images[synapse].ref, postgres: images.postgres.ref, minio: images.minio.ref },
      ports,
      probe,
    })
    await agent.executors['tenant-box.provision'](agent.contextOf(`${slug}.provision`).context, order)
    talks.set(slug, await converse(reachableBox(slug, `${agent.folder}/boxes/${slug}`, ports), 5))
  }

  /** Engine and agents in turn, until neither has anything to do; the daemon's clock goes as long as the agents take. */
  async function drive(): Promise<void> {
    for (let turn = 0; turn < 40; turn++) {
      await world.tick()
      const open = await world.open()
      if (open.length === 0) return
      const begun = performance.now()
      for (const { id } of open) await world.take(id)
      const answers = await Promise.all(open.map(async (command) => [command.id, await answerTo(command)] as const))
      await world.clock.advance(Math.round(performance.now() - begun))
      await world.heartbeat()
      for (const [id, answer] of answers)
        if ('error' in answer) await world.refuse(id, answer.error.code, answer.error.message)
        else await world.answer(id, answer.result)
    }
    throw new Error('it never came to rest')
  }

  async function answerTo({ id, kind, payload }: Command): Promise<{ result: unknown } | { error: { code: string; message: string } }> {
    try {
      const execute = agent.executors[kind as BoxCommandKind] as (context: unknown, payload: unknown) => Promise<unknown>
      return { result: await execute(agent.contextOf(id).context, payload) }
    } catch (error) {
      if (!isProblem(error)) throw error
      return { error: { code: error.code, message: error.message } }
    }
  }

  const running = async (slug: string) => {
    const box = (await agent.boxes.find(slug))!
    const containers = await agent.engine.containers(box.project)
    return Object.fromEntries(containers.map(({ service, image, digest }) => [service, { image, digest }]))
  }
  const actionOf = async (slug: string) => (await world.show(rolloutOf(slug))).actions.find(({ tenantSlug }) => tenantSlug === slug)

  /**
   * Ben's new messages from a stream position on, over several syncs. The position is cut to `parts` streams, because an older release refuses
   * a token with more.
   */
  async function newSince(slug: string, position: string, parts: number): Promise<string[]> {
    const { anna, ben, roomId } = talkIn(slug)
    for (const n of [1, 2, 3]) await sendMessage(anna, roomId, `new ${n}`)
    const seen: string[] = []
    let since = position.split('_').slice(0, parts).join('_')
    for (let turn = 0; turn < 4; turn++) {
      const answer = await sync(ben, { since })
      seen.push(...answer.messages.filter((message) => message.roomId === roomId).map(({ body }) => body))
      since = answer.nextBatch
    }
    return seen
  }

  test('both boxes were updated, and their rollouts wait', async () => {
    const { images } = readTestbed()
    for (const slug of [near, far]) {
      expect(await actionOf(slug)).toMatchObject({ status: 'succeeded', error: null })
      expect((await running(slug)).synapse).toMatchObject({ image: images['synapse-1.163.2'].ref })
      await talkIn(slug).expectComplete()
    }
  })

  test('by images: the former release runs again, and what was said after the update is still there', async () => {
    const { images } = readTestbed()
    await talkIn(near).say('said on the new release')
    const { nextBatch } = await sync(talkIn(near).ben)
    await world.rollBack(rolloutOf(near), 'images')
    await drive()
    expect(await actionOf(near)).toMatchObject({ status: 'rolled_back', rolledBack: true, rollback: { mode: 'images', status: 'done' } })
    const { ref, digest } = images['synapse-1.157.1']
    expect((await running(near)).synapse).toEqual({ image: ref, digest })
    await talkIn(near).expectComplete()
    await talkIn(near).say('said on the former release')
    await talkIn(near).expectComplete()
    expect(await newSince(near, nextBatch, 13)).toEqual(['said on the former release', 'new 1', 'new 2', 'new 3'])
  })

  test('a release that cannot read the database any more is refused by images, before anything is touched', async () => {
    const plan = await planRollback(world.deps, { id: rolloutOf(far), boxes: 'images' })
    expect(plan).toMatchObject({ rollbacks: 0, boxes: [{ tenantSlug: far, does: 'refuse' }] })
    expect(plan.boxes[0]?.findings.map(({ code }) => code)).toContain('SCHEMA_TOO_NEW')
    await expect(world.rollBack(rolloutOf(far), 'images')).rejects.toMatchObject({ code: 'PLAN_REFUSED' })
  })

  test('by snapshot: all data from before exists, later data is lost as announced, and no new message is missed', async () => {
    const { images } = readTestbed()
    const { anna, ben, roomId } = talkIn(far)
    for (let n = 1; n <= 20; n++) await sendMessage(anna, roomId, `lost ${n}`)
    const { nextBatch } = await sync(ben)
    const plan = await planRollback(world.deps, { id: rolloutOf(far), boxes: 'snapshot' })
    expect(plan).toMatchObject({ rollbacks: 1, boxes: [{ does: 'rollback', to: { synapse: '1.97.0' }, losesSince: expect.any(String) }] })
    expect(plan.boxes[0]?.losesMs).toBeGreaterThan(0)

    await world.rollBack(rolloutOf(far), 'snapshot')
    await drive()
    expect(await actionOf(far)).toMatchObject({ status: 'rolled_back', rollback: { mode: 'snapshot', status: 'done' } })
    const { ref, digest } = images['synapse-1.97.0']
    expect((await running(far)).synapse).toEqual({ image: ref, digest })
    await talkIn(far).expectComplete()

    await expect(sync(ben, { since: nextBatch })).rejects.toThrow(/Invalid stream token/)
    expect(await newSince(far, nextBatch, 10)).toEqual(['new 1', 'new 2', 'new 3'])
    const tiers = await db.selectFrom('snapshots').select(['tier']).where('slug', '=', far).orderBy('tier').execute()
    expect(tiers.map(({ tier }) => tier)).toEqual(['pre-restore', 'pre-update'])
  })
})
