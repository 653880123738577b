import { readFile, writeFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fenceFile, readCompose } from '../../src/agent/boxes/index.ts'
import type { ContainerEngine } from '../../src/agent/ports/index.ts'
import { prefetch, type UpdateDeps, update } from '../../src/agent/update/index.ts'
import type { BoxCommandPayload, ProbeResult } from '../../src/core/boxes/index.ts'
import { problem } from '../../src/core/kit/index.ts'
import { readIfThere } from '../../src/node/index.ts'
import { synapseSchemas } from '../support/synapse-schemas.ts'
import { type TestbedImageKey, testbedExists } from '../testbed/testbed.ts'
import { agentOnBox } from './support/agent-on-box.ts'
import { type Conversation, converse } from './support/conversation.ts'

// The agent's own executors on a real box, without a daemon: real engine, real servers, real restic.
describe.skipIf(!testbedExists())('the guarded update of a real box', () => {
  let agent: Awaited<ReturnType<typeof agentOnBox>>
  let engine: ContainerEngine
  let deps: UpdateDeps
  let talk: Conversation

  beforeAll(async () => {
    agent = await agentOnBox(`update-${process.pid}`)
    deps = agent.deps
    engine = deps.engine
    talk = await converse(agent.box, 5)
  })
  afterAll(() => agent?.remove())

  const contextOf = (commandId: string) => agent.contextOf(commandId)
  const payloadOf = (key: TestbedImageKey): BoxCommandPayload<'tenant-box.update'> => ({
    ...agent.payloadOf(key, { mode: 'until-stable' }),
    probe: { consecutive: 3, spacingMs: 500, timeoutMs: 60_000 },
  })
  /** Synapse 1.157.1 reads databases up to schema 94. */
  const proven = { mode: 'until-proven' as const, formerSchema: 94, harmlessUpdates: [...(synapseSchemas.harmlessUpdates ?? [])] }
  const sql = async (text: string) => {
    const containers = await engine.containers((await agent.localBox()).project)
    const { id } = containers.find(({ service }) => service === 'postgres')!
    const ended = await engine.exec(id, ['psql', '-h', '127.0.0.1', '-U', 'synapse', '-d', 'synapse', '-At', '-c', text])
    expect(ended).toMatchObject({ exitCode: 0 })
    return ended.stdout.trim()
  }
  const appliedDeltas = () => sql('select file from applied_schema_deltas order by file')
  const pendingUpdates = async () => (await sql('select update_name from background_updates')).split('\n').filter(Boolean)
  const fence = async () => readIfThere(fenceFile((await agent.localBox()).project))
  /** The agent over a box whose time-out is over as soon as a probe says what the test waits for. */
  const outOfTime = (ends: (probe: ProbeResult) => boolean, from: UpdateDeps): UpdateDeps => {
    let aheadMs = 0
    const probe: typeof from.servers.probe = async (box, signal) => {
      const seen = await from.servers.probe(box, signal)
      if (aheadMs === 0 && ends(seen)) aheadMs = payloadOf('synapse-1.157.1').probe.timeoutMs
      return seen
    }
    const clock = { ...from.clock, monotonicMs: () => from.clock.monotonicMs() + aheadMs }
    return { ...from, clock, servers: { ...from.servers, probe } }
  }

  test('an image that sends no message is taken back, with the database in a new volume', async () => {
    const { composeFile } = (await agent.localBox()).project
    const before = [await readFile(composeFile, 'utf8'), await appliedDeltas()]
    const sick = outOfTime(({ components }) => components.chatApi.ok && !components.chatSync.ok, deps)
    const result = await update(sick)(contextOf('broken'), payloadOf('synapse-broken'))
    expect(result).toMatchObject({ outcome: 'rolled_back', snapshotOk: true, error: { code: 'PROBE_FAILED' } })
    // Each release adds deltas to the schema: these are of the former one, so the database is the copy.
    expect([(await readFile(composeFile, 'utf8')).replace(/-r[0-9a-f]{8}-1/, ''), await appliedDeltas()]).toEqual(before)
    expect(result.digestsAfter).toEqual(result.digestsBefore)
    expect(await fence()).toBeUndefined()
    await talk.expectComplete()
    await talk.say('after the rollback')
    expect(await resultOf('broken', 'restore-data')).toMatchObject({ from: 'cold-copy' })
  })

  test('an image that dies at its start is taken back at once, from the dump where there is no cold copy', async () => {
    const { composeFile, name: projectName } = (await agent.localBox()).project
    const text = await readFile(composeFile, 'utf8')
    const volume = readCompose(text, projectName).database!.volume
    // As owners write it: an alias, and a name with a variable.
    const edited = `x-database: &database\n  name: "\${STACK:-${volume}}"\n${text.replace(`postgres:\n    name: ${volume}`, 'postgres: *database')}`
    expect(edited).toContain('  postgres: *database\n')
    await writeFile(composeFile, edited)
    const createVolume = () => Promise.reject(problem('DOCKER_UNAVAILABLE', 'no volume today'))
    // At once: nobody waits for this time-out.
    const payload = { ...payloadOf('synapse-dies'), probe: { consecutive: 3, spacingMs: 500, timeoutMs: 3_600_000 } }
    const result = await update({ ...deps, engine: { ...engine, createVolume } })(contextOf('dies'), payload)
    expect(result).toMatchObject({ outcome: 'rolled_back', error: { code: 'PROBE_FAILED' } })
    expect(readCompose(await readFile(composeFile, 'utf8'), projectName).database!.volume).toMatch(/-r[0-9a-f]{8}-1$/)
    await talk.expectComplete()
    const [copied, cold, dump] = [
      await resultOf('broken', 'cold-copy'),
      await resultOf('broken', 'restore-data'),
      await resultOf('dies', 'restore-data'),
    ]
    expect(dump).toMatchObject({ from: 'dump' })
    process.stdout.write(
      `cold copy made in ${ms(copied.copiedMs)}; the database back from it in ${ms(cold.tookMs)}, from the dump in ${ms(dump.tookMs)}\n`,
    )
  })

  const ms = (value: unknown): string => `${Math.round(Number(value))} ms`
  const resultOf = async (commandId: string, step: string): Promise<Record<string, unknown>> => {
    const entries = (await deps.journal.find(commandId))?.entries ?? []
    return entries.findLast((entry) => entry.step === step && entry.mark === 'done')?.data as Record<string, unknown>
  }

  test('one that is opened after its quick probes and turns sick then goes back by images, with all that people write', async () => {
    const { servers } = deps
    const opened: unknown[] = []
    const pending = 'device_lists_changes_in_room_unconverted_idx'
    const probe: typeof servers.probe = async (box, signal) => {
      const good = await servers.probe(box, signal)
      if ((await fence()) !== undefined || good.verdict !== 'ok') return good
      if (opened.push(good) === 1) {
        await talk.say('as soon as it was open')
        // Its own are done first: then it looks for no more of them until it starts again.
        await expect.poll(pendingUpdates, { timeout: 60_000, interval: 500 }).toEqual([])
        // One that the former version does not know, and that is pending when it starts.
        await sql(`insert into background_updates (update_name, progress_json) values ('${pending}', '{}')`)
      }
      return { ...good, verdict: 'failed', reason: 'sick once people are in' }
    }
    const early = { ...payloadOf('synapse-1.163.2'), fence: proven }
    const sickLater = outOfTime(({ verdict }) => verdict === 'failed' && opened.length > 1, { ...deps, servers: { ...servers, probe } })
    const result = await update(sickLater)(contextOf('early'), early)
    expect(result).toMatchObject({
      outcome: 'rolled_back',
      rolledBackBy: 'images',
      snapshotOk: true,
      report: { installed: { synapse: '1.157.1' }, fenced: false },
    })
    expect(result.digestsAfter).toEqual(result.digestsBefore)
    expect(result.error?.message).toMatch(/sick once people are in; .* rolled back to its former images and keeps all data/)
    expect(await resultOf('early', 'confirm-rollback')).toEqual({ possible: true })
    expect(result.fencedMs).toBeLessThan(result.durationMs)
    expect(await fence()).toBeUndefined()
    await talk.expectComplete()
    await talk.say('and later')
    expect(await pendingUpdates()).toContain(pending)
    await talk.expectComplete()
  })

  test('a newer one is prefetched, updated to, and keeps every message', async () => {
    const payload = { ...payloadOf('synapse-1.163.2'), fence: proven }
    const { targets, slug, boxId, ownershipEpoch } = payload
    const fetched = await prefetch(deps)(contextOf('prefetch'), { slug, boxId, ownershipEpoch, targets })
    expect(Object.values(fetched.digests)).toEqual([targets.services.synapse?.digest])
    const result = await update(deps)(contextOf('update'), payload)
    expect(result).toMatchObject({ outcome: 'committed', error: null, report: { installed: { synapse: '1.163.2' }, fenced: false } })
    await talk.expectComplete()
    await talk.say('after the update')
    await talk.expectComplete()
    // The background update that is still pending is harmless, so it opened whether that was done or not.
    expect(result.downtime).toMatchObject({ mode: 'until-proven', databaseBytes: expect.any(Number) })
    expect(result.fencedMs).toBeLessThan(60_000)
    process.stdout.write(`fenced for ${ms(result.fencedMs)}: ${JSON.stringify(result.downtime)}\n`)
  })
})
