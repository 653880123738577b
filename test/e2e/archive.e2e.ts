import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { boxArchive, recover, recoveryProjects, runArchives } from '../../src/agent/archive/index.ts'
import type { ContainerEngine, Repository } from '../../src/agent/ports/index.ts'
import { type RestoreDeps, restore } from '../../src/agent/restore/index.ts'
import type { ArchivePart, SnapshotTaken } from '../../src/core/boxes/index.ts'
import { type Archive, chainTo } from '../../src/core/snapshots/index.ts'
import { silentLogger, systemClock, systemRandom } from '../../src/node/index.ts'
import { readMessages, sendMessage, sync } from '../testbed/matrix-client.ts'
import { testbedExists } from '../testbed/testbed.ts'
import { agentOnBox } from './support/agent-on-box.ts'
import { type Conversation, converse } from './support/conversation.ts'

// The agent's own archive of a real box: real engine, real PostgreSQL, real restic; no daemon.
describe.skipIf(!testbedExists())('the archive of a real box', () => {
  let agent: Awaited<ReturnType<typeof agentOnBox>>
  let engine: ContainerEngine
  let deps: RestoreDeps
  let talk: Conversation
  let archive: ReturnType<typeof boxArchive>
  let repository: Repository
  let covered: Archive['covered'] = null
  const parts: ArchivePart[] = []
  const life = new AbortController()

  beforeAll(async () => {
    agent = await agentOnBox(`pitr-${process.pid}`)
    deps = agent.deps
    engine = deps.engine
    repository = agent.repository
    talk = await converse(agent.box, 5)
    await deps.snapshots.prepare(repository)
    archive = newArchive()
  })
  afterAll(async () => {
    await archive?.end().catch(() => undefined)
    life.abort(new Error('over'))
    await agent?.remove()
  })

  const newArchive = () =>
    boxArchive({ ...deps, clock: systemClock, random: systemRandom, folder: join(agent.folder, 'archive') }, agent.addressed.slug)

  async function store(): Promise<readonly ArchivePart[]> {
    const stored = await archive.store(await agent.localBox(), repository, life.signal)
    expect(stored.error).toBeUndefined()
    // An agent reports the last parts of the one before it again.
    const added = stored.parts.filter(({ snapshotId }) => !parts.some((part) => part.snapshotId === snapshotId))
    parts.push(...added)
    covered = stored.covered
    return added
  }

  /** Until a base is there; it is made beside the log. */
  const storeBase = (lines: number) =>
    expect
      .poll(
        async () => {
          await store()
          return parts.filter(({ kind }) => kind === 'base').length
        },
        { timeout: 60_000, interval: 500 },
      )
      .toBe(lines)

  const psql = async (sql: string, user = 'synapse') => {
    const id = (await engine.containers((await agent.localBox()).project)).find(({ service }) => service === 'postgres')?.id ?? ''
    const ran = await engine.exec(id, ['psql', '-X', '-At', '-h', '127.0.0.1', '-U', user, '-d', 'synapse', '-c', sql])
    if (ran.exitCode !== 0) throw new Error(ran.stderr)
    return ran.stdout.trim()
  }

  let recoveries = 0
  async function recovered(to: string | 'latest'): Promise<SnapshotTaken> {
    const chain = chainTo({ parts, covered }, to)
    expect(chain).toBeDefined()
    const { base, logs } = chain as NonNullable<typeof chain>
    const payload = {
      ...{ ...agent.addressed, base: base.snapshotId, logs: logs.map(({ snapshotId }) => snapshotId) },
      ...{ to: to === 'latest' ? null : to, deadlineMs: 600_000 },
    }
    const begunMs = performance.now()
    const { snapshot } = await recover({ ...deps, stateFolder: agent.folder })(agent.contextOf(`recover-${++recoveries}`), payload)
    process.stdout.write(`recovered ${logs.length} parts in ${Math.round(performance.now() - begunMs)} ms\n`)
    expect(await engine.projects(recoveryProjects(agent.folder))).toEqual([])
    return snapshot
  }
  const restored = async (taken: SnapshotTaken, commandId: string) => {
    const { snapshotId, snapshotSha256 } = taken
    const probe = { consecutive: 2, spacingMs: 300, timeoutMs: 60_000 }
    const payload = { ...agent.addressed, snapshotId, snapshotSha256, probe, deadlineMs: 600_000 }
    const result = await restore(deps)(agent.contextOf(commandId), payload)
    expect(result).toMatchObject({ outcome: 'restored', error: null })
    return result
  }

  test('a base is made beside the log, and a message is in the next part', async () => {
    await storeBase(1)
    await talk.say('in the log')
    const [part] = await store()
    expect(part).toMatchObject({ kind: 'log' })
    expect(await psql('select count(*) from pg_replication_slots where temporary and active', 'postgres')).toBe('1')
  })

  test('the next agent continues the line where the last one ended', async () => {
    await archive.end()
    await expect.poll(() => psql('select count(*) from pg_replication_slots', 'postgres')).toBe('0')
    await talk.say('between two agents')
    archive = newArchive()
    const [part] = await store()
    expect(part?.line).toBe(parts[0]?.line)
    expect(chainTo({ parts, covered }, 'latest')?.logs.at(-1)).toEqual(part)
  })

  test('the loop of an agent stores and reports what the daemon orders, and leaves no slot', async () => {
    await archive.end()
    await talk.say('to the loop')
    const { slug, boxId, ownershipEpoch } = agent.addressed
    const over = new AbortController()
    const reported: ArchivePart[] = []
    const loop = runArchives(
      { ...deps, clock: systemClock, random: systemRandom, log: silentLogger(), folder: join(agent.folder, 'archive') },
      async ({ reports, secrets }) => {
        reported.push(...reports.flatMap((report) => report.parts))
        covered = reports[0]?.covered ?? covered
        return { boxes: [{ slug, boxId, ownershipEpoch, ...(secrets ? { snapshots: { ...repository, env: {} } } : {}) }], nextInMs: 60_000 }
      },
      over.signal,
    )
    await expect.poll(() => reported.length, { timeout: 60_000 }).toBeGreaterThan(0)
    over.abort()
    await loop
    parts.push(...reported.filter(({ snapshotId }) => !parts.some((part) => part.snapshotId === snapshotId)))
    expect(await psql('select count(*) from pg_replication_slots', 'postgres')).toBe('0')
    archive = newArchive()
  })

  test('what was deleted by mistake is in a snapshot of the moment before, beside the box', async () => {
    // The clock of the database, whose commits the moment is compared with.
    const before = await psql(`select to_char(clock_timestamp() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`)
    await psql("delete from event_json where json like '%message 3 of%'")
    await talk.say('after the mistake')
    await store()
    const taken = await recovered(before)
    expect(taken).toMatchObject({ tier: 'recovered', takenAt: before })
    await restored(taken, 'to-before')
  })

  test('a restored box begins a new line, and the former one can still be restored', async () => {
    const former = parts[0]?.line
    await archive.end()
    archive = newArchive()
    await storeBase(2)
    expect(covered?.line).not.toBe(former)
    expect(chainTo({ parts, covered }, 'latest')?.base.line).toBe(covered?.line)
  })

  test('the volumes are deleted mid-sentence: the latest moment comes back, and clients go on with their tokens', async () => {
    const { anna, ben, roomId } = talk
    const acknowledged: string[] = []
    for (let n = 1; n <= 40; n++) {
      await sendMessage(anna, roomId, `sentence ${n}`)
      acknowledged.push(`sentence ${n}`)
      if (n === 30) await store()
    }
    const { nextBatch } = await sync(ben)
    const stored = acknowledged.slice(0, 30)
    await archive.end()
    const { project } = await agent.localBox()
    const volumes = await engine.projectVolumes(project.name)
    await engine.removeContainers((await engine.projectContainers(project.name)).map(({ id }) => id))
    for (const volume of volumes) await engine.removeVolume(volume)
    // A restore before made volumes of its own name, which compose does not know as those of its file.
    expect(await engine.containers(project)).toEqual([])

    const result = await restored(await recovered('latest'), 'burnt')
    expect(result.preRestore).toBeNull()
    const said = new Set((await readMessages(ben, roomId)).map(({ body }) => body))
    expect(stored.filter((body) => !said.has(body))).toEqual([])
    for (const text of ['new 1', 'new 2']) await sendMessage(anna, roomId, text)
    const seen: string[] = []
    for (let since = nextBatch, turn = 0; turn < 3; turn++) {
      const answer = await sync(ben, { since })
      seen.push(...answer.messages.map(({ body }) => body))
      since = answer.nextBatch
    }
    expect(seen).toEqual(expect.arrayContaining(['new 1', 'new 2']))
  })
})
