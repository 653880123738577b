import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { boxArchive } from '../../../src/agent/archive/index.ts'
import type {
  ArchivePartRequest,
  BoxServers,
  ContainerEngine,
  LocalBox,
  Repository,
  SnapshotStore,
} from '../../../src/agent/ports/index.ts'
import { lsnText, lsnValue } from '../../../src/core/boxes/index.ts'
import { manualClock, problem } from '../../../src/core/kit/index.ts'
import { systemRandom } from '../../../src/node/index.ts'

// The line of an archive over agents that come and go, and over hosts and volumes that are put back to an earlier state.

const segmentBytes = 1024 * 1024
const size = BigInt(segmentBytes)
const systemId = 7_000_000_000n
const { signal } = new AbortController()

async function aBox() {
  const folder = await mkdtemp(join(tmpdir(), 'tenantry-line-'))
  onTestFinished(() => rm(folder, { recursive: true, force: true }))
  const data = join(folder, 'volume', 'data')
  for (const one of [join(data, 'global'), join(data, 'pg_wal'), join(folder, 'box')]) await mkdir(one, { recursive: true })
  const composeFile = join(folder, 'box', 'compose.yaml')
  await writeFile(composeFile, JSON.stringify({ name: 'north', services: { postgres: { image: 'postgres:15' } } }))
  const control = Buffer.alloc(512)
  control.writeBigUInt64LE(systemId)
  control.writeUInt32LE(1300, 8)
  await writeFile(join(data, 'global', 'pg_control'), control)
  let flushed = size
  /** The database writes log: all segments up to the position, filled so. */
  const write = async (to: bigint, fill: number) => {
    for (let start = flushed - (flushed % size); start < to; start += size) {
      const content = Buffer.alloc(segmentBytes, fill)
      content.writeBigUInt64LE(start, 8)
      await writeFile(join(data, 'pg_wal', `0000000100000000${(start / size).toString(16).toUpperCase().padStart(8, '0')}`), content)
    }
    flushed = to
  }
  const stored: { id: string; request: ArchivePartRequest }[] = []
  let isKilled = false
  const snapshots = {
    list: async () =>
      stored.map(({ id, request: { tags } }) =>
        typeof tags === 'string' ? { id } : { id, archive: { snapshotId: id, addedBytes: 1, ...tags } },
      ),
    takePart: async (_: Repository, request: ArchivePartRequest) => {
      stored.push({ id: `part-${stored.length}`, request })
      if (isKilled) throw new Error('killed')
      return { id: `part-${stored.length - 1}`, addedBytes: 1 }
    },
  } as unknown as SnapshotStore
  const servers = {
    serverVersions: async () => ({}),
    databaseFacts: async () => undefined,
    beginBackup: () => Promise.reject(new Error('no base in this test')),
    holdLog: async () => ({
      ...{ systemId: String(systemId), segmentBytes, from: flushed - (flushed % size) },
      position: async () => ({ timeline: 1, flushed }),
      ...{ release: async () => undefined, end: async () => undefined },
    }),
  } as unknown as BoxServers
  /** The container and the volume of a service that a restore replaces. */
  const of: Record<string, string> = { synapse: 'synapse', minio: 'minio' }
  const postgres = { id: 'pg', service: 'postgres', image: 'postgres:15', state: 'running', restartCount: 0 }
  const mounts = [{ kind: 'volume', source: 'volume', target: '/var/lib/postgresql/data' }]
  const engine = {
    containers: async () => [
      { ...postgres, mounts, volumes: ['volume'] },
      ...['synapse', 'minio'].map((service) => ({
        ...{ id: of[service], service, image: `${of[service]}:1`, state: 'running', restartCount: 0 },
        ...{ volumes: [of[service]], mounts: mounts.map((one) => ({ ...one, source: of[service], target: '/data' })) },
      })),
    ],
    resolveCompose: async () => Promise.reject(problem('COMPOSE_INVALID', 'not asked in this test')),
    volumePath: async (name: string) => join(folder, name),
    exec: async () => ({ exitCode: 1, stdout: '', stderr: '' }),
  } as unknown as ContainerEngine
  const box = { slug: 'north', boxId: 'box_1', project: { name: 'north', folder: join(folder, 'box'), composeFile } } as LocalBox
  const deps = { engine, servers, snapshots, disk: { freeBytes: async () => 1e12 }, clock: manualClock(), random: systemRandom }
  const spools = join(folder, 'archive')
  return {
    ...{ data, spools, write },
    loseStore: () => stored.splice(0),
    replace: (service: string, by: string) => {
      of[service] = by
    },
    lastRequest: () => stored.at(-1)?.request as ArchivePartRequest,
    killNext: () => {
      isKilled = true
    },
    /** A new agent. */
    agent: (repositoryId = 'one') => {
      isKilled = false
      const archive = boxArchive({ ...deps, folder: spools }, 'north')
      return async () =>
        (
          await archive.store(
            { ...box, managed: true, chatDomain: 'north.test', ownershipEpoch: 1, ports: null },
            { repositoryId } as Repository,
            signal,
          )
        ).parts
    },
    /** The newest log part of the store. */
    last: () =>
      stored.map(({ request }) => request.tags).findLast((tags) => typeof tags === 'object') as Exclude<ArchivePartRequest['tags'], string>,
  }
}

test('the next agent continues the line', async () => {
  const { write, agent, last } = await aBox()
  await write(size + 5_000n, 1)
  await agent()()
  const { line, to } = last()
  expect(to).toBe(lsnText(size + 5_000n))
  await write(2n * size + 9_000n, 1)
  await agent()()
  expect(last()).toMatchObject({ line, to: lsnText(2n * size + 9_000n) })
})

test('also after one that was killed between the store and its record', async () => {
  const { write, agent, last, killNext } = await aBox()
  await write(size + 5_000n, 1)
  await agent()()
  const { line } = last()
  await write(size + 9_000n, 1)
  const dying = agent()
  killNext()
  await expect(dying()).rejects.toThrow('killed')
  await write(size + 20_000n, 1)
  await agent()()
  expect(last()).toMatchObject({ line, to: lsnText(size + 20_000n) })
})

test('a host that was put back to an earlier state begins a new line: the store has log that it never wrote', async () => {
  const { write, agent, last, data, spools } = await aBox()
  await write(size + 5_000n, 1)
  await agent()()
  const { line } = last()
  await cp(spools, `${spools}.before`, { recursive: true })
  await cp(data, `${data}.before`, { recursive: true })
  await write(size + 50_000n, 1)
  await agent()()
  expect(last().line).toBe(line)
  for (const one of [spools, data]) {
    await rm(one, { recursive: true })
    await cp(`${one}.before`, one, { recursive: true })
  }
  await write(size + 20_000n, 1)
  await agent()()
  expect(last().line).not.toBe(line)
  expect(lsnValue(last().from)).toBeLessThanOrEqual(size)
})

test('a volume that was put back to an earlier state begins a new line, although it has written more since', async () => {
  const { write, agent, last } = await aBox()
  await write(size + 5_000n, 1)
  await agent()()
  const { line } = last()
  await write(size + 9_000n, 2)
  await agent()()
  expect(last().line).not.toBe(line)
})

test('a repository in the place of a lost one begins a new line, which needs a base of its own', async () => {
  const { write, agent, last, spools, loseStore } = await aBox()
  await write(size + 5_000n, 1)
  await agent()()
  const { line } = last()
  const spooled = join(spools, 'north', 'line.json')
  await writeFile(spooled, JSON.stringify({ ...JSON.parse(await readFile(spooled, 'utf8')), baseAt: '2026-11-30T02:30:00.000Z' }))
  loseStore()
  await write(size + 9_000n, 1)
  await agent('two')()
  expect(last().line).not.toBe(line)
})

test('services that are replaced while PostgreSQL runs on, as by a rollback, are archived with their image and their files of now', async () => {
  const { write, agent, lastRequest, replace } = await aBox()
  const store = agent()
  const facts = async () => {
    const [spool = ''] = lastRequest().paths
    return JSON.parse(await readFile(join(spool, 'facts.json'), 'utf8'))
  }
  await write(size + 5_000n, 1)
  await store()
  expect(lastRequest().paths.some((path) => path.endsWith('/synapse'))).toBe(true)
  replace('synapse', 'restored')
  await write(size + 9_000n, 1)
  await store()
  expect(lastRequest().paths.filter((path) => /synapse|restored/.test(path))).toEqual([expect.stringMatching(/\/restored$/)])
  expect((await facts()).images.synapse.image).toBe('restored:1')
})
