import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ContainerEngine } from '../../src/agent/ports/index.ts'
import { restore } from '../../src/agent/restore/index.ts'
import { formerDatabaseSweeper, type UpdateDeps, type UpdateSteps, update, updateSteps } from '../../src/agent/update/index.ts'
import type { BoxCommandPayload } from '../../src/core/boxes/index.ts'
import { manualClock, problem, sha256Hex } from '../../src/core/kit/index.ts'
import { readTestbed, testbedExists } from '../testbed/testbed.ts'
import { agentOnBox } from './support/agent-on-box.ts'
import { type Conversation, converse, pollEdge } from './support/conversation.ts'
import { eventually } from './support/programs.ts'

// A real box is taken to a real next major version of PostgreSQL while people talk: once it fails and comes back, once it stays.
describe.skipIf(!testbedExists())('an upgrade of PostgreSQL of a real box', () => {
  let agent: Awaited<ReturnType<typeof agentOnBox>>
  let engine: ContainerEngine
  let deps: UpdateDeps
  let talk: Conversation
  let formerVolume: string
  let snapshot: Readonly<{ snapshotId: string; snapshotSha256: string | null }>
  const images = testbedExists() ? readTestbed().images : undefined

  beforeAll(async () => {
    agent = await agentOnBox(`upgrade-${process.pid}`)
    deps = agent.deps
    engine = deps.engine
    talk = await converse(agent.box, 5)
    await sql(`create table filler as select n, repeat(md5(n::text), 10) as body from generate_series(1, 100000) n;
      alter table filler add primary key (n);
      create table named (id bigserial, name text collate "en-x-icu" unique, check (name <> ''));
      insert into named (name) select 'name ' || n from generate_series(1, 500) n`)
    formerVolume = (await database())?.volumes[0] ?? ''
    // An index that Synapse builds in the background is not valid yet.
    await eventually('Synapse has built its indexes', async () => (await sql('select count(*) from background_updates')) === '0')
  })
  afterAll(() => agent?.remove())

  const database = async () => (await engine.containers((await agent.localBox()).project)).find(({ service }) => service === 'postgres')
  const sql = async (text: string, user = 'synapse') => {
    const id = (await database())?.id ?? ''
    const ended = await engine.exec(id, ['psql', '-h', '127.0.0.1', '-U', user, '-d', 'synapse', '-At', '-c', text])
    expect(ended).toMatchObject({ exitCode: 0 })
    return ended.stdout.trim()
  }
  const version = () => sql('show server_version_num')

  function payload(): BoxCommandPayload<'tenant-box.update'> {
    const to = images?.['postgres-17']
    if (!to) throw new Error('there is no test bed')
    const upgrade = { way: 'dump-load', keepFormerDays: 7 } as const
    const order = agent.payloadOf('synapse-1.157.1', { mode: 'until-stable', snapshot: 'hot', upgrade })
    return { ...order, targets: { ...order.targets, services: { postgres: { image: to.ref, digest: to.digest } } } }
  }

  /** People talk until the box is closed. */
  async function upgradeWhileTalking(commandId: string, steps: Partial<UpdateSteps> = {}) {
    const edge = pollEdge(agent.box, talk)
    let isOver = false
    const talking = (async () => {
      for (let n = 1; !isOver; n++) await talk.say(`${commandId}: ${n}`)
    })()
    // The last word is out before the fence is up, so it is known whether it was stored.
    const fence: UpdateSteps['fence'] = async (run) => {
      isOver = true
      await talking
      return updateSteps.fence(run)
    }
    const result = await update(deps, { ...updateSteps, ...steps, fence })(agent.contextOf(commandId), payload())
    process.stdout.write(
      `${commandId}: ${JSON.stringify({ outcome: result.outcome, error: result.error, downtime: result.downtime, fencedMs: result.fencedMs, restored: result.restored })}\n`,
    )
    const seen = await edge.stop()
    expect([...seen.keys()].filter((kind) => kind !== '200' && kind !== 'fenced')).toEqual([])
    expect(seen.get('fenced')).toBeGreaterThan(0)
    return result
  }

  async function expectWhole() {
    await talk.expectComplete()
    await talk.say('still here')
    await talk.expectComplete()
    expect(await sql('select count(*), sum(length(body)) from filler')).toBe('100000|32000000')
    expect(await sql(`insert into named (name) values ('next') returning id > 500`)).toMatch(/^t/)
    await sql(`delete from named where name = 'next'`)
    expect(await engine.projects(`dump-${sha256Hex(deps.workFolder).slice(0, 8)}-`)).toEqual([])
  }
  const volumesOfDatabase = async () =>
    (await engine.projectVolumes((await agent.localBox()).project.name)).filter((name) => name.startsWith(formerVolume)).sort()

  test('one that fails on the new version returns to its own volume, with every message', async () => {
    const found: string[] = []
    const snapshot: UpdateSteps['snapshot'] = async () => {
      found.push(await version(), ...((await database())?.volumes ?? []))
      throw problem('PROBE_FAILED', 'injected')
    }
    const result = await upgradeWhileTalking('upgrade-1', { snapshot })
    expect(found[0]).toMatch(/^17/)
    expect(found[1]).not.toBe(formerVolume)
    expect(result).toMatchObject({ outcome: 'rolled_back', error: { code: 'PROBE_FAILED' }, restored: { from: 'former-volume' } })
    expect(await version()).toMatch(/^15/)
    expect(await volumesOfDatabase()).toEqual([formerVolume])
    await expectWhole()
  })

  test('15 to 17: every message is there, and the former volume is kept for its days', async () => {
    const result = await upgradeWhileTalking('upgrade-2')
    expect(result).toMatchObject({ outcome: 'committed', snapshotOk: true, downtime: { snapshot: 'hot', hotCopy: expect.anything() } })
    expect(await version()).toMatch(/^17/)
    await expectWhole()
    const [now, ...more] = (await database())?.volumes ?? []
    expect(more).toEqual([])
    expect(await volumesOfDatabase()).toEqual([formerVolume, now].sort())
    expect((await agent.localBox()).formerDatabases).toEqual([
      { volume: formerVolume, version: expect.stringMatching(/^15\./), until: expect.any(String) },
    ])
    // The optimizer knows the tables.
    expect(Number(await sql(`select reltuples from pg_class where relname = 'filler'`))).toBeGreaterThan(90_000)
    snapshot = { snapshotId: result.snapshotId as string, snapshotSha256: result.snapshotSha256 }
    const later = manualClock(new Date(Date.now() + 8 * 86_400_000).toISOString())
    expect(await formerDatabaseSweeper({ ...deps, clock: later })()).toEqual([formerVolume])
    expect(await volumesOfDatabase()).toEqual([now])
    await expectWhole()
  })

  test('the snapshot of before it takes the box back to 15, with what was written until then', async () => {
    const { slug, boxId, ownershipEpoch } = agent.addressed
    const order = { slug, boxId, ownershipEpoch, ...snapshot, probe: payload().probe, deadlineMs: 600_000 }
    const restored = await restore(deps)(agent.contextOf('upgrade-restore'), order)
    expect(restored).toMatchObject({ outcome: 'restored', error: null })
    expect(await version()).toMatch(/^15/)
    expect(await sql('select count(*) from filler')).toBe('100000')
  })
})
