import { readFile } from 'node:fs/promises'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fenceFile, readCompose } from '../../src/agent/boxes/index.ts'
import type { ContainerEngine } from '../../src/agent/ports/index.ts'
import { restore } from '../../src/agent/restore/index.ts'
import { type UpdateDeps, update } from '../../src/agent/update/index.ts'
import { type BoxCommandPayload, whyNoHotCopy } from '../../src/core/boxes/index.ts'
import { sha256Hex } from '../../src/core/kit/index.ts'
import { readIfThere } from '../../src/node/index.ts'
import { synapseSchemas } from '../support/synapse-schemas.ts'
import { dockerEnvironment, readTestbed, type TestbedImageKey, testbedExists } from '../testbed/testbed.ts'
import { agentOnBox } from './support/agent-on-box.ts'
import { type Conversation, converse } from './support/conversation.ts'

// Updates of a real box from hot copies, while rows are written all the time.
describe.skipIf(!testbedExists())('an update of a real box from a hot copy', () => {
  let agent: Awaited<ReturnType<typeof agentOnBox>>
  let engine: ContainerEngine
  let deps: UpdateDeps
  let talk: Conversation

  beforeAll(async () => {
    agent = await agentOnBox(`hot-${process.pid}`)
    deps = agent.deps
    engine = deps.engine
    talk = await converse(agent.box, 5)
    await sql('create table bench_filler as select n, repeat(md5(n::text), 10) as body from generate_series(1, 200000) n')
    await sql('create table written (n serial primary key, at timestamptz default clock_timestamp())')
  })
  afterAll(() => agent?.remove())

  const fence = {
    ...{ mode: 'until-proven' as const, snapshot: 'hot' as const, formerSchema: 94, copyBytesPerSecond: 20e6 },
    harmlessUpdates: [...(synapseSchemas.harmlessUpdates ?? [])],
  }
  const payloadOf = (key: TestbedImageKey): BoxCommandPayload<'tenant-box.update'> => agent.payloadOf(key, fence)
  const databaseId = async () =>
    (await engine.containers((await agent.localBox()).project)).find(({ service }) => service === 'postgres')?.id ?? ''
  const psql = async (id: string, text: string, user = 'synapse') =>
    engine.exec(id, ['psql', '-h', '127.0.0.1', '-U', user, '-d', 'synapse', '-At', '-c', text])
  const sql = async (text: string, user?: string) => {
    const ended = await psql(await databaseId(), text, user)
    expect(ended).toMatchObject({ exitCode: 0 })
    return ended.stdout.trim()
  }
  const resultOf = async (commandId: string, step: string): Promise<Record<string, unknown>> => {
    const entries = (await deps.journal.find(commandId))?.entries ?? []
    return entries.findLast((entry) => entry.step === step && entry.mark === 'done')?.data as Record<string, unknown>
  }

  /** Commits rows, a few a second, until it is ended; `acknowledged` returns the number of the last one. */
  function writer() {
    let isOver = false
    let acknowledged = 0
    const writing = (async () => {
      while (!isOver) {
        const id = await databaseId()
        const insert = () => psql(id, 'insert into written default values returning n').catch(() => ({ exitCode: 1, stdout: '' }))
        const { exitCode, stdout } = id === '' ? { exitCode: 1, stdout: '' } : await insert()
        if (exitCode === 0) acknowledged = Math.max(acknowledged, Number.parseInt(stdout, 10))
        // Each row starts a program in the container.
        await new Promise((resolve) => setTimeout(resolve, 100))
      }
    })()
    return {
      acknowledged: () => acknowledged,
      end: async () => {
        isOver = true
        await writing
      },
    }
  }

  async function expectNothingLeft() {
    expect(await engine.projects(`dump-${sha256Hex(deps.workFolder).slice(0, 8)}-`)).toEqual([])
    expect(await sql('select count(*) from pg_replication_slots')).toBe('0')
  }

  /** The agent, and how many rows were acknowledged when it began to stop the database. */
  function atTheStop(rows: ReturnType<typeof writer>) {
    let before = 0
    const stop: ContainerEngine['stop'] = async (project, services) => {
      if (services.includes('postgres')) before ||= rows.acknowledged()
      return engine.stop(project, services)
    }
    return { deps: { ...deps, engine: { ...engine, stop } }, before: () => before }
  }

  test('PostgreSQL reports what a hot copy lacks', async () => {
    const box = await agent.localBox()
    const lacks = async () =>
      whyNoHotCopy({ facts: (await deps.servers.databaseFacts(box))?.hotCopy, databaseBytes: null, freeDiskBytes: null }) ?? 'nothing'
    const admin = (text: string) => sql(text, 'postgres')
    const start = async () => {
      await engine.start(box.project, ['postgres'])
      await expect.poll(() => deps.servers.databaseReady(box).catch(() => false), { timeout: 60_000 }).toBe(true)
    }
    const restart = async (change: string) => {
      expect(await engine.exec(await databaseId(), ['sh', '-c', change])).toMatchObject({ exitCode: 0 })
      await engine.stop(box.project, ['postgres'])
      await start()
    }
    expect(await lacks()).toBe('nothing')
    await admin('alter system set full_page_writes = off')
    await admin('select pg_reload_conf()')
    await expect.poll(lacks).toMatch(/full_page_writes/)
    await admin('alter system reset all')
    await admin('select pg_reload_conf()')
    await expect.poll(lacks).toBe('nothing')
    await admin(`select pg_create_physical_replication_slot('slot_' || n) from generate_series(1, 10) n`)
    expect(await lacks()).toMatch(/no free replication slot/)
    await admin('select pg_drop_replication_slot(slot_name) from pg_replication_slots')
    await admin('create role rescue superuser login')
    await admin('alter role postgres nosuperuser')
    expect(await lacks()).toMatch(/no superuser/)
    await sql('alter role postgres superuser', 'rescue')
    await admin('drop role rescue')
    expect(await engine.exec(await databaseId(), ['sh', '-c', 'install -d -o postgres /tmp/elsewhere'])).toMatchObject({ exitCode: 0 })
    await admin(`create tablespace elsewhere location '/tmp/elsewhere'`)
    expect(await lacks()).toMatch(/1 tablespace outside its data folder/)
    await admin('drop tablespace elsewhere')
    await restart('touch "$PGDATA/standby.signal"')
    expect(await lacks()).toMatch(/is a standby/)
    await restart('rm "$PGDATA/standby.signal"')
    await admin(`alter system set wal_level = 'minimal'`)
    await admin('alter system set max_wal_senders = 0')
    await restart('true')
    expect(await lacks()).toMatch(/wal_level of PostgreSQL is minimal/)
    await admin('alter system reset all')
    await restart('true')
    expect(await lacks()).toBe('nothing')

    await admin('create table damaged as select n from generate_series(1, 1000) n')
    const file = await admin(`select pg_relation_filepath('damaged')`)
    const postgres = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')!
    await engine.stop(box.project, ['postgres'])
    const damage = `pg_checksums --enable >/dev/null && printf 'damage' | dd "of=$PGDATA/${file}" bs=1 seek=5000 conv=notrunc status=none`
    const testbed = readTestbed()
    const inVolumes = ['--user', 'postgres', '--volumes-from', postgres.id, '--entrypoint', 'sh', postgres.image]
    await execa(testbed.docker, ['run', '--rm', ...inVolumes, '-c', damage], { env: dockerEnvironment(testbed), extendEnv: false })
    await start()
    expect(await lacks()).toBe('nothing')
    expect((await psql(await databaseId(), 'select count(*) from damaged', 'postgres')).stderr).toMatch(/invalid page/)
    await expect.poll(lacks).toMatch(/PostgreSQL found 1 damaged page/)
    await admin('drop table damaged')
    await admin('select pg_stat_reset()')
    await expect.poll(lacks).toBe('nothing')
  })

  test('a box that dies at its start is rolled back to the copy, with each row that was acknowledged', async () => {
    const rows = writer()
    const watched = atTheStop(rows)
    const result = await update(watched.deps)(agent.contextOf('hot-dies'), payloadOf('synapse-dies'))
    await rows.end()
    process.stdout.write(
      `rolled back: fenced for ${Math.round(result.fencedMs)} ms, ${JSON.stringify([result.downtime, result.restored])}\n`,
    )
    expect(result).toMatchObject({
      ...{ outcome: 'rolled_back', rolledBackBy: 'snapshot', restored: { from: 'cold-copy' } },
      downtime: { snapshot: 'hot', hotCopy: { endLsn: expect.stringMatching(/^[0-9A-F]+\/[0-9A-F]+$/) } },
    })
    const { composeFile, name } = (await agent.localBox()).project
    expect(readCompose(await readFile(composeFile, 'utf8'), name).database?.volume).toMatch(/-r[0-9a-f]{8}-1$/)
    expect(watched.before()).toBeGreaterThan(0)
    expect(Number(await sql(`select count(*) from generate_series(1, ${watched.before()}) n where n not in (select n from written)`))).toBe(
      0,
    )
    expect(await sql('select count(*) from bench_filler')).toBe('200000')
    await talk.expectComplete()
    await talk.say('after the rollback')
    await expectNothingLeft()
  })

  test('an agent that ends while it copies leaves neither a slot nor a backup', async () => {
    const life = new AbortController()
    const beginBackup: typeof deps.servers.beginBackup = async (...of) => {
      const backup = await deps.servers.beginBackup(...of)
      expect(await sql('select count(*) from pg_replication_slots where temporary')).toBe('1')
      life.abort(new Error('drained'))
      return backup
    }
    const ended = update({ ...deps, servers: { ...deps.servers, beginBackup } })(
      agent.contextOf('hot-update', life.signal),
      payloadOf('synapse-1.163.2'),
    )
    await expect(ended).rejects.toThrow('drained')
    await expect.poll(() => sql('select count(*) from pg_replication_slots')).toBe('0')
  })

  test('the next agent takes it up: the snapshot of the copy has each row that was acknowledged before the stop, and a restore brings it back', async () => {
    const rows = writer()
    const payload = payloadOf('synapse-1.163.2')
    const watched = atTheStop(rows)
    // The copy is dumped while the box is open.
    const dumpDatabase: typeof deps.servers.dumpDatabase = async (box, ...rest) => {
      const running = (await engine.containers(box.project)).map(({ service }) => service)
      expect([await readIfThere(fenceFile((await agent.localBox()).project)), running]).toEqual([undefined, ['postgres']])
      await talk.say('while it is dumped')
      return deps.servers.dumpDatabase(box, ...rest)
    }
    const servers = { ...deps.servers, dumpDatabase }
    const result = await update({ ...watched.deps, servers })(agent.contextOf('hot-update'), payload)
    await rows.end()
    process.stdout.write(`committed: fenced for ${Math.round(result.fencedMs)} ms, ${JSON.stringify(result.downtime)}\n`)
    expect(await resultOf('hot-update', 'hot-copy')).not.toHaveProperty('skipped')
    expect(result).toMatchObject({
      outcome: 'committed',
      downtime: { mode: 'until-proven', snapshot: 'hot' },
      report: { installed: { synapse: '1.163.2' } },
    })
    await talk.expectComplete()
    await expectNothingLeft()
    const [counts, written] = [await resultOf('hot-update', 'snapshot'), Number(await sql('select count(*) from written'))]
    const stored = (counts.counts as Record<string, number>).written as number
    expect(watched.before()).toBeGreaterThan(0)
    // Recovery took the sequence further, so numbers are missing.
    expect(stored).toBeGreaterThanOrEqual(Number(await sql(`select count(*) from written where n <= ${watched.before()}`)))
    expect(await resultOf('hot-update', 'cold-copy')).toMatchObject({ positions: { writers: expect.any(Array) } })
    expect(stored).toBeLessThanOrEqual(written)

    const { slug, boxId, ownershipEpoch, probe, deadlineMs } = payload
    const order = {
      slug,
      boxId,
      ownershipEpoch,
      probe,
      deadlineMs,
      snapshotId: result.snapshotId as string,
      snapshotSha256: result.snapshotSha256,
    }
    const restored = await restore(deps)(agent.contextOf('hot-restore'), order)
    expect(restored).toMatchObject({ outcome: 'restored', report: { installed: { synapse: '1.157.1' } } })
    expect(Number(await sql('select count(*) from written'))).toBe(stored)
  })
})
