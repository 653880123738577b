import { cp, readFile, stat, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { readBoxSecrets, readProbeAccount, rewriteImages, rewriteVolumes } from '../../../src/agent/boxes/index.ts'
import type { BoxServers, ContainerEngine, LocalBox, RowCounts, StreamPositions } from '../../../src/agent/ports/index.ts'
import { type BoxMigration, type ProbeComponent, Service } from '../../../src/core/boxes/index.ts'
import { secret, sha256Hex } from '../../../src/core/kit/index.ts'

type Revert = () => Promise<void>

/** A box of our template that serves and has no box migration. It is used up: nothing of it runs in the end. */
type ServersUnderTest = Readonly<{
  servers: BoxServers
  engine: ContainerEngine
  box: LocalBox
  /** For what the tests write. */
  folder: string
  /** Versions of its servers. */
  versions: Readonly<{ synapse: string; postgres: string; minio: string }>
  /** Images of chat servers: one that listens and serves nothing, one that is too old for the database, and the next one. */
  releases: Readonly<{ mute: string; tooOld: string; next: string; nextVersion: string }>
  /** Lets the database answer questions and take no writes. */
  refuseWrites(): Promise<Revert>
  /** Ends the database's server as a power cut would, and starts it again. */
  crashDatabase(): Promise<void>
  /** Makes a database of somebody else beside the chat server's. */
  addDatabase(name: string): Promise<Revert>
}>

const patience = { timeout: 60_000, interval: 500 }

const aMigration = (head: string, sql: string): BoxMigration => ({ head, name: 'suite', sha256: sha256Hex(sql), sql })
const first = aMigration('0001', 'create table tenantry.suite (id integer primary key);')
const second = aMigration('0002', 'create table tenantry.suite_too (id integer primary key);')

/** Rules for the servers of every box, real or simulated. One box serves all tests in their order, because creating one is slow. */
export function boxServersSuite(title: string, make: () => Promise<ServersUnderTest>): void {
  describe(title, () => {
    let under: ServersUnderTest
    let servers: BoxServers
    let engine: ContainerEngine
    let box: LocalBox
    beforeAll(async () => {
      under = await make()
      ;({ servers, engine, box } = under)
    })

    const well = () => expect.poll(async () => (await servers.probe(box)).verdict, patience).toBe('ok')
    const applied = async () => (await servers.databaseFacts(box))?.migrations.map(({ head }) => head)

    /** The components that a probe finds wrong, in their order. It is not well, and its reason is the first of them. */
    const wrongParts = async (): Promise<ProbeComponent[]> => {
      const { verdict, components, reason } = await servers.probe(box)
      const wrong = (['chatApi', 'chatSync', 'database', 'objectStorage'] as const).filter((name) => !components[name].ok)
      expect([verdict, reason]).toEqual(['failed', `${wrong[0]}: ${components[wrong[0] as ProbeComponent].error}`])
      return wrong
    }

    const changeCompose = async (change: (text: string) => string, service: Service) => {
      const { project } = box
      await writeFile(project.composeFile, change(await readFile(project.composeFile, 'utf8')))
      await engine.up(project, [service])
    }

    describe('a box that is well', () => {
      test('has a good probe, which says when it was and how long each part took', async () => {
        const good = { ok: true, ms: expect.any(Number) }
        expect(await servers.probe(box)).toEqual({
          at: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
          verdict: 'ok',
          components: { chatApi: good, chatSync: good, database: good, objectStorage: good },
        })
      })

      test.each([false, true])('has a good check (writes: %s)', async (writes) => {
        const { verdict, components } = await servers.check(box, writes)
        expect([verdict, Object.values(components).map(({ ok }) => ok)]).toEqual(['ok', [true, true, true, true]])
      })

      test('reports the versions of its servers', async () => {
        const { synapse, postgres, minio } = under.versions
        expect(await servers.serverVersions(box)).toEqual({
          synapse: expect.stringContaining(synapse),
          postgres: expect.stringContaining(postgres),
          minio: expect.stringContaining(minio),
        })
      })

      test('reports the facts of the preflight, including other databases', async () => {
        expect(await servers.databaseReady(box)).toBe(true)
        expect(await servers.databaseBytes(box)).toBeGreaterThan(1_000_000)
        const facts = {
          bytes: expect.any(Number),
          collation: 'C',
          schemaVersion: expect.any(Number),
          compatVersion: expect.any(Number),
          backgroundUpdates: expect.any(Array),
          migrations: [],
          backgroundProgress: expect.toBeOneOf([null, expect.any(String)]),
          ownerIsSuperuser: false,
          ...{ tablespaces: [], archiveMode: 'off', replicationSlots: [], alteredSettings: [] },
          systemId: expect.stringMatching(/^[0-9]{5,20}$/),
          hotCopy: expect.objectContaining({ major: expect.any(Number), walLevel: 'replica', isSuperuser: true, fullPageWrites: true }),
        }
        expect(await servers.databaseFacts(box)).toEqual({ ...facts, otherDatabases: [] })
        const forget = await under.addDatabase('bridge')
        expect(await servers.databaseFacts(box)).toEqual({ ...facts, otherDatabases: ['bridge'] })
        await forget()
        expect((await servers.databaseFacts(box))?.otherDatabases).toEqual([])
      })

      test('begins a backup, whose log goes on until it is ended, and which leaves no slot', async () => {
        const leaving = new AbortController()
        const left = await servers.beginBackup(box, 'tenantry_suite_1', leaving.signal)
        leaving.abort(new Error('killed'))
        await expect(left.finishCopy()).rejects.toThrow()
        const backup = await servers.beginBackup(box, 'tenantry_suite_2', new AbortController().signal)
        expect(backup).toMatchObject({
          fromLsn: expect.stringMatching(/^[0-9A-F]+\/[0-9A-F]+$/),
          segment: expect.stringMatching(/^[0-9A-F]{24}$/),
        })
        expect(await backup.finishCopy()).toMatch(new RegExp(`^START WAL LOCATION: ${backup.fromLsn} \\(file ${backup.segment}\\)\n`))
        expect((await backup.switchLog()) > backup.segment).toBe(true)
        await backup.end()
        await expect.poll(async () => (await servers.databaseFacts(box))?.replicationSlots).toEqual([])
      })

      test('takes each box migration once, in whatever order, and notes them in theirs', async () => {
        for (const migration of [second, first, second]) await servers.applyMigration(box, migration)
        expect((await servers.databaseFacts(box))?.migrations).toEqual([first, second].map(({ head, sha256 }) => ({ head, sha256 })))
      })

      test('takes no other text under a head that is noted, and says why in the words of the database', async () => {
        const changed = aMigration(second.head, 'create table tenantry.never (id integer primary key);')
        await expect(servers.applyMigration(box, changed)).rejects.toMatchObject({
          code: 'UPDATE_FAILED',
          message: expect.stringMatching(/0002-suite failed in .*: ERROR:\s+duplicate key/),
        })
        expect((await servers.databaseFacts(box))?.migrations).toEqual([first, second].map(({ head, sha256 }) => ({ head, sha256 })))
      })

      test('ignores calls whose signal has already aborted', async () => {
        const reason = new Error('stop requested')
        const signal = AbortSignal.abort(reason)
        const folder = join(under.folder, 'never')
        const calls: Record<string, () => Promise<unknown>> = {
          probe: () => servers.probe(box, signal),
          dump: () => servers.dumpDatabase(box, folder, signal),
          load: () => servers.loadDatabase(box, { folder, expected: {} }, signal),
          settle: () => servers.finishDatabaseLoad(box, {}, signal),
          positions: () => servers.streamPositions(box, signal),
          raise: () => servers.raiseStreams(box, 'unknown', signal),
          account: () => servers.createProbeAccount(box, secret('any'), signal),
          throwAway: () => servers.createTemporaryAccount(box, secret('any'), signal),
          migration: () => servers.applyMigration(box, aMigration('0003', 'create table tenantry.never (id integer);'), signal),
        }
        for (const [name, call] of Object.entries(calls)) expect([name, await call().catch((error) => error)]).toEqual([name, reason])
        expect(await applied()).toEqual(['0001', '0002'])
      })
    })

    describe('while its chat server is stopped', () => {
      let dump: string
      let counts: RowCounts
      beforeAll(async () => {
        dump = join(under.folder, 'dumps', 'one')
        await engine.stop(box.project, ['synapse'])
      })

      const onVolume = async (number: number) => {
        await changeCompose((text) => rewriteVolumes(text, { postgres: `${box.project.name}-postgres-${number}` }), 'postgres')
        await expect.poll(() => servers.databaseReady(box), patience).toBe(true)
      }
      const cut = async () => {
        const folder = join(under.folder, 'dumps', 'cut')
        await cp(dump, folder, { recursive: true })
        await truncate(join(folder, 'database.dump'), 20)
        return folder
      }
      const differ = {
        code: 'RESTORE_FAILED',
        message: expect.stringMatching(/events has [0-9]+ rows instead of [0-9]+/),
      }

      test('only what needs it fails, and it has no version', async () => {
        expect(await wrongParts()).toEqual(['chatApi', 'chatSync'])
        expect(await servers.serverVersions(box)).toEqual({ postgres: expect.any(String), minio: expect.any(String) })
      })

      test('no account can be made', async () => {
        const failed = { code: 'PROBE_FAILED', message: expect.stringContaining(box.slug) }
        await expect(servers.createProbeAccount(box, secret('any'))).rejects.toMatchObject(failed)
        await expect(servers.createTemporaryAccount(box, secret('any'))).rejects.toMatchObject(failed)
      })

      test('a dump goes into a private folder with its row counts', async () => {
        await under.addDatabase('bridge')
        counts = await servers.dumpDatabase(box, dump)
        expect(counts.events).toBeGreaterThan(2)
        expect((await stat(dump)).mode & 0o077).toBe(0)
        expect((await stat(join(dump, 'database.dump'))).size).toBeGreaterThan(20)
        await expect(servers.dumpDatabase(box, '/dev/null/x')).rejects.toThrow()
      })

      test('a database with other row counts is detected; tables without expected counts do not matter', async () => {
        await servers.finishDatabaseLoad(box, counts)
        await servers.finishDatabaseLoad(box, { events: counts.events ?? 0 })
        await servers.finishDatabaseLoad(box, undefined) // a copy of the whole volume, of which nothing was counted
        await expect(servers.finishDatabaseLoad(box, {})).rejects.toMatchObject({ code: 'RESTORE_FAILED' })
        const more = { ...counts, events: (counts.events ?? 0) + 1 }
        await expect(servers.finishDatabaseLoad(box, more)).rejects.toMatchObject(differ)
        const unknown = { no_such_table: 1 }
        await expect(servers.finishDatabaseLoad(box, unknown)).rejects.toMatchObject({
          code: 'RESTORE_FAILED',
          message: expect.stringContaining('no_such_table has no rows instead of 1'),
        })
      })

      test('a dump that is not there, or was cut, leaves an empty database empty', async () => {
        await onVolume(2)
        for (const folder of [join(under.folder, 'nothing'), await cut()])
          await expect(servers.loadDatabase(box, { folder, expected: counts })).rejects.toMatchObject({ code: 'RESTORE_FAILED' })
        expect(await servers.databaseFacts(box)).toMatchObject({
          schemaVersion: null,
          compatVersion: null,
          migrations: [],
          otherDatabases: [],
        })
      })

      test('a dump that holds other rows than expected is refused, and no load goes over what it left', async () => {
        const fewer = { ...counts, events: (counts.events ?? 0) - 1 }
        await expect(servers.loadDatabase(box, { folder: dump, expected: fewer })).rejects.toMatchObject(differ)
        await expect(servers.loadDatabase(box, { folder: dump, expected: counts })).rejects.toMatchObject({
          code: 'RESTORE_FAILED',
          message: expect.stringMatching(/not empty/),
        })
        await servers.finishDatabaseLoad(box, counts)
      })

      test('a dump is loaded into an empty database, with its box migrations and without what is of others', async () => {
        const former = await servers.databaseFacts(box)
        await onVolume(3)
        await servers.loadDatabase(box, { folder: dump, expected: counts })
        const { schemaVersion, compatVersion } = former ?? {}
        expect(schemaVersion).toBeGreaterThan(0)
        expect(await servers.databaseFacts(box)).toMatchObject({ schemaVersion, compatVersion, otherDatabases: [] })
        expect(await applied()).toEqual(['0001', '0002'])
        await servers.applyMigration(box, first)
      })

      test('a load that is done is whole after a crash that comes at once', async () => {
        await onVolume(4)
        await servers.loadDatabase(box, { folder: dump, expected: counts })
        await under.crashDatabase()
        await expect.poll(() => servers.databaseReady(box), patience).toBe(true)
        await servers.finishDatabaseLoad(box, counts)
        expect(await applied()).toEqual(['0001', '0002'])
      })

      test('streams move past the positions of clients, never back, and furthest when these are unknown', async () => {
        const far = 5_000
        const before = await servers.streamPositions(box)
        expect(Object.keys(before.sequences)).toContain('events_stream_seq')
        const known: StreamPositions = {
          sequences: Object.fromEntries(Object.entries(before.sequences).map(([name, at]) => [name, at + far])),
          writers: before.writers.map((writer) => ({ ...writer, position: writer.position + far })),
        }
        await servers.raiseStreams(box, known)
        const raised = await servers.streamPositions(box)
        expect(laggards(raised, known.sequences, 1)).toEqual([])
        expect(raised.writers).toEqual(expect.arrayContaining([...known.writers]))
        await servers.raiseStreams(box, before)
        const again = await servers.streamPositions(box)
        expect(laggards(again, raised.sequences, 0)).toEqual([])
        expect(again.writers).toEqual(expect.arrayContaining([...raised.writers]))
        await servers.raiseStreams(box, 'unknown')
        expect(laggards(await servers.streamPositions(box), again.sequences, 1_000_000)).toEqual([])
      })
    })

    describe('a box that came back from a dump', () => {
      test('is well, and its writes are taken', async () => {
        await engine.up(box.project, ['synapse', 'edge'])
        await well()
      })

      test('finds its probe account again, which requires the token', async () => {
        const { appserviceToken } = (await readBoxSecrets(box.project))!
        const account = await servers.createProbeAccount(box, secret(appserviceToken))
        expect(account).toEqual(await readProbeAccount(box.project))
        expect(account).toMatchObject({ userId: `@tenantry-probe:${box.chatDomain}`, roomId: expect.stringMatching(/^!/) })
        await expect(servers.createProbeAccount(box, secret('another-token'))).rejects.toMatchObject({
          code: 'PROBE_FAILED',
          message: expect.not.stringContaining('another-token'),
        })
      })

      test('makes no throw-away account, by whatever secret: such names are its application service’s own', async () => {
        const { registrationSharedSecret } = (await readBoxSecrets(box.project))!
        for (const registration of [registrationSharedSecret, 'another-secret'])
          await expect(servers.createTemporaryAccount(box, secret(registration))).rejects.toMatchObject({
            code: 'PROBE_FAILED',
            message: expect.not.stringContaining(registration),
          })
      })
    })

    describe('a part that is away', () => {
      test.each([
        ['minio', ['objectStorage']],
        ['edge', ['chatApi', 'chatSync', 'objectStorage']],
      ] as const)('%s: %j', async (service, parts) => {
        await engine.stop(box.project, [service])
        expect(await wrongParts()).toEqual(parts)
        expect(await servers.serverVersions(box)).not.toHaveProperty(service)
        await engine.start(box.project, [service])
        await well()
      })

      test('the database: its own part and the chat fail, nothing is known of it, and all work on it is refused', async () => {
        await engine.stop(box.project, ['postgres'])
        expect(await wrongParts()).toEqual(expect.arrayContaining(['chatSync', 'database']))
        expect(await servers.serverVersions(box)).not.toHaveProperty('postgres')
        expect(await servers.databaseReady(box)).toBe(false)
        expect([await servers.databaseBytes(box), await servers.databaseFacts(box)]).toEqual([undefined, undefined])
        const folder = join(under.folder, 'dumps', 'one')
        for (const work of [
          () => servers.dumpDatabase(box, join(under.folder, 'never')),
          () => servers.loadDatabase(box, { folder, expected: {} }),
          () => servers.finishDatabaseLoad(box, {}),
          () => servers.streamPositions(box),
          () => servers.raiseStreams(box, 'unknown'),
          () => servers.applyMigration(box, first),
        ])
          await expect(work()).rejects.toMatchObject({ code: 'BOX_UNHEALTHY', message: expect.stringContaining(box.slug) })
        await engine.start(box.project, ['postgres'])
        await well()
      })
    })

    describe('what looks well and is not', () => {
      const the = async (service: Service) => (await engine.containers(box.project)).find((one) => one.service === service)!
      const switchTo = async (image: string) => {
        await engine.pull(image, {})
        await changeCompose((text) => rewriteImages(text, { synapse: image }), 'synapse')
      }

      test('a database that answers and takes no writes', async () => {
        const revert = await under.refuseWrites()
        expect(await wrongParts()).toContain('database')
        await revert()
        expect((await servers.probe(box)).components.database.ok).toBe(true)
      })

      test('a release that listens and serves nothing: it is the sync alone that shows it', async () => {
        await switchTo(under.releases.mute)
        await expect.poll(async () => (await servers.probe(box)).components.chatApi.ok, patience).toBe(true)
        expect(await servers.probe(box)).toMatchObject({
          verdict: 'failed',
          components: { chatSync: { ok: false }, database: { ok: true } },
        })
      })

      test('a release that is too old for the database dies of it, and the next one is well and says what it is', async () => {
        const { tooOld, next, nextVersion } = under.releases
        await switchTo(tooOld)
        await expect.poll(async () => (await the('synapse')).restartCount, patience).toBeGreaterThan(0)
        expect(await engine.logs((await the('synapse')).id, 50)).toMatch(/too new for the server to understand/)
        expect((await servers.probe(box)).verdict).toBe('failed')
        await switchTo(next)
        await well()
        expect((await servers.serverVersions(box)).synapse).toContain(nextVersion)
      })
    })

    test('a box of which nothing is left is sick in each part, and that is an answer', async () => {
      await engine.discard(box.project, Service.options)
      expect(await wrongParts()).toEqual(['chatApi', 'chatSync', 'database', 'objectStorage'])
      expect(await servers.serverVersions(box)).toEqual({})
    })
  })
}

/** Sequences that did not come so much further. */
const laggards = ({ sequences }: StreamPositions, than: Readonly<Record<string, number>>, by: number): string[] =>
  Object.entries(than).flatMap(([name, at]) => ((sequences[name] ?? 0) >= at + by ? [] : [name]))
