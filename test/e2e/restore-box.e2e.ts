import { readdir, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { dumpFolderOf, snapshot, takeBoxSnapshot } from '../../src/agent/backup/index.ts'
import { fenceFile } from '../../src/agent/boxes/index.ts'
import type { ContainerEngine } from '../../src/agent/ports/index.ts'
import { type RestoreDeps, type RestoreSteps, restore, restoreStepsOfBox } from '../../src/agent/restore/index.ts'
import { type RestoreStep, restoreSteps, type SnapshotTaken } from '../../src/core/boxes/index.ts'
import { readIfThere } from '../../src/node/index.ts'
import { logIn, sendMessage, sync } from '../testbed/matrix-client.ts'
import { readTestbed, testbedExists } from '../testbed/testbed.ts'
import { agentOnBox } from './support/agent-on-box.ts'
import { encryptedApp } from './support/chat-app.ts'
import { type Conversation, converse, pollEdge, type ReachableBox } from './support/conversation.ts'

// The agent's own executors on a real box, without a daemon: real engine, real servers, real restic.
describe.skipIf(!testbedExists())('the restore of a real box', () => {
  let agent: Awaited<ReturnType<typeof agentOnBox>>
  let folder: string
  let engine: ContainerEngine
  let deps: RestoreDeps
  let reachable: ReachableBox
  let talk: Conversation
  let taken: SnapshotTaken

  beforeAll(async () => {
    agent = await agentOnBox(`re-${process.pid}`)
    ;({ deps, folder, box: reachable } = agent)
    engine = deps.engine
    talk = await converse(reachable, 5)
    const result = await snapshot(agent.deps)(contextOf('snapshot'), { ...agent.addressed, tier: 'manual' })
    taken = result.snapshot
  })
  // Also what restores that were killed leave.
  afterAll(() => agent?.remove())

  const contextOf = (commandId: string, signal?: AbortSignal) => agent.contextOf(commandId, signal)
  const payloadOf = ({ snapshotId, snapshotSha256 }: Pick<SnapshotTaken, 'snapshotId' | 'snapshotSha256'> = taken) => ({
    ...agent.addressed,
    snapshotId,
    snapshotSha256,
    probe: { consecutive: 2, spacingMs: 300, timeoutMs: 60_000 },
    deadlineMs: 600_000,
  })
  const box = () => agent.localBox()
  const volumes = async () => (await engine.containers((await box()).project)).flatMap((container) => container.volumes).sort()
  const psql = async (sql: string) => {
    const postgres = (await engine.containers((await box()).project)).find(({ service }) => service === 'postgres')!.id
    const ran = await engine.exec(postgres, ['psql', '-X', '-A', '-t', '-h', '127.0.0.1', '-U', 'synapse', '-d', 'synapse', '-c', sql])
    if (ran.exitCode !== 0) throw new Error(ran.stderr)
    return ran.stdout.trim()
  }

  test('what was damaged comes back, and a client that saw what is gone misses nothing that is new', async () => {
    const { anna, ben, roomId } = talk
    // Much more than will be said after the restore: positions that ben has seen and that no new message may have.
    for (let n = 1; n <= 30; n++) await sendMessage(anna, roomId, `gone ${n}`)
    const { nextBatch } = await sync(ben)
    const before = await volumes()

    await psql("delete from event_json where json like '%message 3 of%'; delete from local_media_repository")
    const media = (await engine.volumePath(before.find((name) => name.includes('media'))!)) as string
    const files = (await readdir(media, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile())
    expect(files.length).toBeGreaterThan(0)
    for (const file of files) await rm(join(file.parentPath, file.name))

    const poll = pollEdge(reachable, talk)
    const result = await restore(deps)(contextOf('restore'), payloadOf())
    expect(result).toMatchObject({ outcome: 'restored', error: null, preRestore: { tier: 'pre-restore' }, report: { fenced: false } })
    expect([...(await poll.stop()).keys()].sort()).toEqual(['200', 'fenced'])
    await talk.expectComplete()

    const fresh = Array.from({ length: 4 }, (_, n) => `new ${n + 1}`)
    for (const text of fresh) await sendMessage(anna, roomId, text)
    expect(await newSince(nextBatch)).toEqual(fresh)
    expect(await volumes()).toHaveLength(3)
    expect((await volumes()).every((name) => /-r[0-9a-f]{8}-1$/.test(name))).toBe(true)
    expect(await readdir(join(folder, 'work'))).toEqual([])
    process.stdout.write(`restored in ${result.durationMs.toFixed()} ms, fenced for ${result.fencedMs.toFixed()} ms\n`)
  })

  /** Ben's messages from a sync token on, over several syncs. */
  async function newSince(token: string): Promise<string[]> {
    const seen: string[] = []
    let since = token
    for (let turn = 0; turn < 5; turn++) {
      const answer = await sync(talk.ben, { since })
      seen.push(...answer.messages.filter(({ roomId }) => roomId === talk.roomId).map(({ body }) => body))
      since = answer.nextBatch
    }
    return seen
  }

  test('an app that logged in since the snapshot keeps its encryption keys, and goes on with them as a new device', async () => {
    const login = { username: 'ben', password: 'secret of ben' }
    const platform = { baseUrl: reachable.platformUrl, headers: { 'x-tenantry-edge-secret': reachable.edgeSecret } }
    const app = async () => encryptedApp({ ...(await logIn(platform, login)), baseUrl: reachable.publicUrl })
    const forgotten = await app()
    await forgotten.write()
    const keys = await forgotten.roomKeys()
    expect(keys).toHaveLength(1)

    const ended = forgotten.loggedOut()
    expect(await restore(deps)(contextOf('keys'), payloadOf())).toMatchObject({ outcome: 'restored' })
    expect(await ended).toMatchObject({ httpStatus: 401, errcode: 'M_UNKNOWN_TOKEN', data: { soft_logout: true } })
    const next = await app()
    expect(next.deviceId).not.toBe(forgotten.deviceId)
    await next.importRoomKeys(await forgotten.exportRoomKeys())
    expect(await next.roomKeys()).toEqual(keys)
    for (const { stop } of [forgotten, next]) stop()
    await talk.expectComplete()
  })

  test('killed in the midst of each step, it goes on and ends the same', async () => {
    const killed: RestoreStep[] = []
    const run = async (): Promise<{ outcome: string }> => {
      const life = new AbortController()
      const steps = Object.fromEntries(
        restoreSteps.map((step) => [
          step,
          async (given: Parameters<RestoreSteps['fence']>[0]) => {
            if (killed.includes(step)) return restoreStepsOfBox[step](given)
            killed.push(step)
            // Some die before the step has an effect, some in the midst of it, some with it done and not written down.
            setTimeout(() => life.abort(new Error('killed')), killed.length % 3 === 0 ? 0 : 400)
            await restoreStepsOfBox[step](given)
            life.abort(new Error('killed'))
            throw new Error('killed')
          },
        ]),
      ) as RestoreSteps
      return restore(deps, steps)(contextOf('killed', life.signal), payloadOf()).catch(run)
    }
    expect(await run()).toMatchObject({ outcome: 'restored' })
    expect(killed).toEqual(restoreSteps.filter((step) => !step.startsWith('back')))
    await talk.expectComplete()
    expect(await readIfThere(fenceFile((await box()).project))).toBeUndefined()
    expect((await volumes()).filter((name) => !/-r[0-9a-f]{8}-[0-9]+$/.test(name))).toEqual([])
  })

  test('an image that dies on the restored data is taken back: the box is as it was', async () => {
    const { images } = readTestbed()
    const { project } = await box()
    await talk.say('after the restores')
    const running = Object.fromEntries((await engine.containers(project)).map(({ service, image, digest }) => [service, { image, digest }]))
    const dying = await takeBoxSnapshot(deps, {
      box: await box(),
      repository: agent.repository,
      tier: 'manual',
      commandId: 'dying',
      images: { ...running, synapse: { image: images['synapse-dies'].ref, digest: images['synapse-dies'].digest } },
      installed: { migrationsHead: '0000', postgres: 'x', synapse: 'x', minio: 'x' },
    })
    await rm(dumpFolderOf(deps.workFolder, 'dying'), { recursive: true })
    const before = [await readFile(project.composeFile, 'utf8'), await volumes()]
    const result = await restore(deps)(contextOf('dies'), payloadOf(dying.taken))
    expect(result).toMatchObject({
      outcome: 'failed',
      error: { code: 'PROBE_FAILED', message: expect.stringContaining('as it was before') },
    })
    expect([await readFile(project.composeFile, 'utf8'), await volumes()]).toEqual(before)
    await talk.expectComplete()
    await talk.say('still open')
    await talk.expectComplete()
  })
})
