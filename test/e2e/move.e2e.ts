import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { handOver, remove, takeBack, takeOver } from '../../src/agent/move/index.ts'
import { wrapped } from '../agent/update/an-update.ts'
import { mortal, storeWhileAlive } from '../agent/update/mortal.ts'
import { sync } from '../testbed/matrix-client.ts'
import { testbedExists } from '../testbed/testbed.ts'
import { type Conversation, converse, type ReachableBox, reachableBox } from './support/conversation.ts'
import { boxPorts } from './support/ports.ts'
import { type RealHost, realHost, soon } from './support/real-host.ts'

// Two hosts on one engine, distinguished by the prefix of their projects. The executors of both are the agent's own, without a daemon.
describe.skipIf(!testbedExists())('a real box changes hosts', () => {
  const slug = `mv-oak-${process.pid}`
  const address = { slug, boxId: 'box_move' }
  const oldPorts = boxPorts()
  const newPorts = boxPorts()
  // One name for both, as with DNS: people find the box under it wherever it is.
  const wanted = { chatDomain: `${slug}.test`, publicUrl: `http://127.0.0.1:${newPorts.public}` }
  let old: RealHost
  let next: RealHost
  let store: string
  let box: ReachableBox
  let talk: Conversation

  beforeAll(async () => {
    store = await mkdtemp(join(tmpdir(), 'tenantry-mv-store-'))
    old = await realHost('mv-a-', join(store, 'repository'))
    next = await realHost('mv-b-', join(store, 'repository'))
    box = await old.make(slug, {
      ...address,
      chatDomain: wanted.chatDomain,
      publicUrl: `http://127.0.0.1:${oldPorts.public}`,
      ports: oldPorts,
    })
    talk = await converse(box, 5)
  })
  afterAll(async () => {
    await old?.end()
    await next?.end()
    await rm(store, { recursive: true, force: true })
  })

  const deadlineMs = 300_000
  /** The command again and again, each time by an agent that dies at its next touch of the host that is `killAt`; the last one lives. */
  async function killedEverywhere<Result>(
    host: RealHost,
    commandId: string,
    killAt: readonly string[],
    run: (deps: Awaited<ReturnType<RealHost['agent']>>, context: ReturnType<RealHost['contextOf']>) => Promise<Result>,
  ): Promise<Result> {
    for (const name of killAt) {
      const life = mortal((_, touched) => touched === name, 'after')
      const deps = await host.agent((ports) => wrapped(ports, life.touch), storeWhileAlive(host.fileStore, life))
      await expect(run(deps, host.contextOf(commandId, life.signal))).rejects.toThrow(/killed|dead/)
      expect([name, life.died()]).toEqual([name, true])
    }
    return run(await host.agent(), host.contextOf(commandId))
  }

  const nothingOf = async (host: RealHost) => {
    expect(await host.engine.projects(host.prefix)).toEqual([])
    expect(await host.boxes.list()).toEqual([])
    expect(await readdir(join(host.folder, 'boxes')).catch(() => [])).toEqual([])
  }

  test('a hand-over without a take-over is taken back, and nothing is lost', async () => {
    await handOver(await old.agent())(old.contextOf('first'), { ...address, ownershipEpoch: 1, deadlineMs })
    const closed = await fetch(`${box.publicUrl}/_matrix/client/versions`)
    expect([closed.status, closed.headers.has('retry-after')]).toEqual([503, true])
    const { probe } = await takeBack(await old.agent())(old.contextOf('back'), { ...address, ownershipEpoch: 2, probe: soon })
    expect(probe.verdict).toBe('ok')
    await talk.expectComplete()
    await talk.say('back again')
  })

  test('every message, picture and sync token moves with the box, whichever agent dies during the move', async () => {
    const token = (await sync(talk.ben)).nextBatch
    await talk.say('said before the move')
    const { snapshot } = await killedEverywhere(old, 'hand-over', ['stop', 'dumpDatabase', 'take'], (deps, context) =>
      handOver(deps)(context, { ...address, ownershipEpoch: 2, deadlineMs }),
    )
    expect(snapshot?.tier).toBe('final')
    const left = (await old.engine.containers((await old.boxes.find(slug))!.project)).filter(({ state }) => state === 'running')
    expect(left.map(({ service }) => service)).toEqual(['edge'])

    const payload = { ...address, ...wanted, ownershipEpoch: 3, snapshotId: snapshot!.snapshotId, snapshotSha256: snapshot!.snapshotSha256 }
    const result = await killedEverywhere(next, 'take-over', ['restore', 'createVolume', 'loadDatabase', 'up'], (deps, context) =>
      takeOver(deps)(context, { ...payload, ports: newPorts, probe: soon, deadlineMs }),
    )
    expect(result).toMatchObject({ outcome: 'restored', error: null, report: { ownershipEpoch: 3, fenced: false, managed: true } })

    talk.follow(reachableBox(slug, join(next.folder, 'boxes', slug), newPorts).publicUrl)
    await talk.expectComplete()
    const missed = await sync(talk.ben, { since: token })
    expect(missed.messages.map(({ body }) => body)).toEqual(['said before the move'])
    await talk.say('said after the move')
    expect((await sync(talk.ben, { since: missed.nextBatch })).messages.map(({ body }) => body)).toEqual(['said after the move'])
    await talk.expectComplete()
  })

  test('the old host removes what it had, in whatever moment it is killed', async () => {
    const { removed } = await killedEverywhere(old, 'remove', ['removeProject'], (deps, context) =>
      remove(deps)(context, { ...address, ownershipEpoch: 3 }),
    )
    expect(removed).toEqual(expect.arrayContaining([`folder ${old.folder}/boxes/${slug}`, `record ${slug}`]))
    await nothingOf(old)
    expect((await next.boxes.find(slug))?.ownershipEpoch).toBe(3)
    await expect(remove(await next.agent())(next.contextOf('no'), { ...address, ownershipEpoch: 3 })).rejects.toMatchObject({
      code: 'CONFLICT',
    })
  })

  test('a take-over that cannot prove itself leaves nothing behind', async () => {
    const { snapshot } = await handOver(await next.agent())(next.contextOf('again'), { ...address, ownershipEpoch: 3, deadlineMs })
    const deps = await old.agent()
    const sick = {
      ...deps.servers,
      probe: async () => ({ ...(await deps.servers.probe((await next.boxes.find(slug))!)), verdict: 'failed' as const }),
    }
    const payload = { ...address, ...wanted, ownershipEpoch: 4, snapshotId: snapshot!.snapshotId, snapshotSha256: snapshot!.snapshotSha256 }
    const probe = { ...soon, timeoutMs: 3_000 }
    const result = await takeOver({ ...deps, servers: sick })(old.contextOf('sick'), { ...payload, ports: oldPorts, probe, deadlineMs })
    expect(result).toMatchObject({ outcome: 'failed', error: { code: 'PROBE_FAILED' } })
    await nothingOf(old)
  })
})
