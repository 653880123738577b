import { createReadStream } from 'node:fs'
import { chmod, mkdir, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { execa } from 'execa'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { fetchData, fetchSnapshot, maintainSnapshots, snapshot } from '../../src/agent/backup/index.ts'
import type { CommandContext, Repository } from '../../src/agent/ports/index.ts'
import type { SnapshotTaken } from '../../src/core/boxes/index.ts'
import type { TenantId } from '../../src/core/kit/index.ts'
import { agentRepository } from '../../src/daemon/snapshots/index.ts'
import { readIfThere, systemClock } from '../../src/node/index.ts'
import { maintainRepository, resticMaintenance } from '../../src/node/restic/index.ts'
import { aContext } from '../agent/boxes/provisioning.ts'
import { mortal } from '../agent/update/mortal.ts'
import { uploadMedia } from '../testbed/matrix-client.ts'
import { readTestbed, testbedExists } from '../testbed/testbed.ts'
import { aBucket } from './support/a-bucket.ts'
import { aRealBox } from './support/a-real-box.ts'
import { boxPorts } from './support/ports.ts'

// Snapshots of a real box that goes on serving: real PostgreSQL, MinIO and restic, on the host's own disk and in a bucket.
describe.skipIf(!testbedExists())('snapshots of a real box that serves', () => {
  const slug = `sa-${process.pid}`
  const payload = { slug, boxId: 'box_sa', ownershipEpoch: 1, tier: 'daily' as const }
  const tending = { slug, boxId: 'box_sa', ownershipEpoch: 1, forget: [], prune: false, check: 'none' as const }
  let real: Awaited<ReturnType<typeof aRealBox>>
  let bucket: Awaited<ReturnType<typeof aBucket>>
  let local: Repository
  let remote: Repository
  let daily: SnapshotTaken

  beforeAll(async () => {
    bucket = await aBucket(`tenantry-${slug}-store`)
    real = await aRealBox({ slug, boxId: 'box_sa', ports: boxPorts() })
    const folder = join(real.folder, 'repository')
    local = { repository: `file:${folder}`, password: 'a key', env: {}, mayCreate: true, recoveryPassword: 'kept in a safe' }
    remote = { repository: bucket.repository, password: 'a key', env: bucket.env, mayCreate: true, recoveryPassword: 'kept in a safe' }
  })
  afterAll(async () => {
    await bucket?.remove()
    await real?.remove()
  })

  const contextOf = (commandId: string, repository: Repository, change: Partial<CommandContext> = {}): CommandContext => ({
    ...aContext().context,
    commandId,
    secrets: async () => ({ snapshots: { ...repository, env: { ...repository.env } } }),
    ...change,
  })
  const take = async (commandId: string, repository = local) =>
    (await snapshot(await real.agent())(contextOf(commandId, repository), payload)).snapshot
  /** The repository of a tenant, with credentials of its own. */
  const sessionOf = (tenantId: string) => {
    const { origin } = new URL(bucket.repository.replace(/^s3:/, ''))
    const settings = {
      backupKey: Buffer.alloc(32, 7).toString('base64'),
      snapshotStore: `s3+${origin}/snapshots/fleet`,
      snapshotStoreCredentials: { accessKeyId: bucket.env.AWS_ACCESS_KEY_ID, secretAccessKey: bucket.env.AWS_SECRET_ACCESS_KEY },
      snapshotSessions: { endpoint: origin, region: 'us-east-1', hours: 1 },
    }
    return agentRepository({ clock: systemClock, fetch }, settings, tenantId as TenantId)
  }
  const leftOver = () => readdir(join(real.folder, 'work')).catch(() => [])

  /** Writes to database, media and objects as fast as it can, until it is stopped. */
  function keepWriting() {
    let going = true
    const write = async () => {
      let said = 0
      for (; going; said++) {
        await real.talk.say(`meanwhile ${said}`)
        await uploadMedia(real.talk.anna, new Uint8Array(1_000).fill(said), 'image/png')
        await real.servers.probe(real.box)
      }
      return said
    }
    const written = write()
    return () => {
      going = false
      return written
    }
  }

  /** Contents of the dump, loaded into a separate database of the box: rows per table, and the expected media files. */
  async function dumpedDatabase(folder: string, tables: readonly string[]) {
    const id = (await real.engine.containers(real.box.project)).find(({ service }) => service === 'postgres')!.id
    const psql = async (database: string, sql: string) => {
      const argv = ['psql', '-X', '-A', '-t', '-U', 'postgres', '-d', database, '-c', sql]
      return (await real.engine.exec(id, argv)).stdout.trim().split('\n').filter(Boolean)
    }
    await psql('postgres', 'create database check_dump template template0')
    const load = ['pg_restore', '--exit-on-error', '-U', 'postgres', '-d', 'check_dump']
    expect(await real.engine.exec(id, load, { stdin: createReadStream(join(folder, 'database.dump')) })).toMatchObject({ exitCode: 0 })
    const counts = await psql('check_dump', tables.map((table) => `select '${table}', count(*) from "${table}"`).join(' union all '))
    const media = await psql('check_dump', 'select media_id from local_media_repository')
    await psql('postgres', 'drop database check_dump')
    return {
      rows: Object.fromEntries(counts.map((line) => [line.split('|')[0], Number(line.split('|')[1])])),
      media: media.map((name) => `local_content/${name.slice(0, 2)}/${name.slice(2, 4)}/${name.slice(4)}`),
    }
  }

  test('dump and row counts are of one moment while people write, and media and objects hold at least what it refers to', async () => {
    const before = await real.engine.containers(real.box.project)
    const stop = keepWriting()
    daily = await take('daily')
    expect(await stop()).toBeGreaterThan(0)
    expect(await leftOver()).toEqual([])
    const agent = await real.agent()
    const wanted = {
      repository: local,
      snapshotId: daily.snapshotId,
      manifestSha256: daily.snapshotSha256,
      folder: join(real.folder, 'fetched'),
    }
    const { manifest, dumpFolder, boxFolder } = await fetchSnapshot(agent, wanted)
    const tables = Object.keys(manifest.rows)
    expect(tables.length).toBeGreaterThan(100)
    const dumped = await dumpedDatabase(dumpFolder, tables)
    expect(dumped.rows).toEqual(manifest.rows)
    expect(dumped.media.length).toBeGreaterThan(0)
    for (const data of manifest.paths.data) {
      const into = join(real.folder, 'data', data.service)
      await fetchData(agent, wanted, [{ data, into }])
      const files = await readdir(into, { recursive: true })
      if (data.key === 'media') expect(files).toEqual(expect.arrayContaining(dumped.media))
      else expect(files.some((name) => name.startsWith('tenantry-probe/probe/'))).toBe(true)
      expect(await readIfThere(join(into, '.minio.sys', 'tmp'))).toBeUndefined()
    }
    expect(await readFile(join(boxFolder, 'compose.yaml'), 'utf8')).toBe(await readFile(real.box.project.composeFile, 'utf8'))
    const after = await real.engine.containers(real.box.project)
    expect(after.map(({ id, restartCount }) => [id, restartCount])).toEqual(before.map(({ id, restartCount }) => [id, restartCount]))
    await real.talk.expectComplete()
  })

  test('the recovery key alone lists and restores it with plain restic', async () => {
    const restic = (...args: string[]) =>
      execa(readTestbed().restic, ['-r', join(real.folder, 'repository'), '--no-cache', ...args], {
        input: 'kept in a safe\n',
        extendEnv: false,
        env: {},
      })
    const listed = JSON.parse((await restic('snapshots', '--json')).stdout) as { id: string; paths: string[]; tags: string[] }[]
    const found = listed.find(({ tags }) => tags.includes('tier:daily'))!
    expect(found).toMatchObject({ id: daily.snapshotId, tags: expect.arrayContaining([`slug:${slug}`]) })
    const target = join(real.folder, 'by-hand')
    await restic('restore', found.id, '--target', target)
    const dump = found.paths.find((path) => path.endsWith('/daily'))!
    expect(JSON.parse(await readFile(join(target, dump, 'manifest.json'), 'utf8'))).toMatchObject({ slug, tier: 'daily' })
    expect((await stat(join(target, dump, 'database.dump'))).size).toBeGreaterThan(10_000)
    await rm(target, { recursive: true })
  })

  test('killed when it is stored and its journal does not say so, it is gone on with, and one snapshot stands', async () => {
    const life = mortal((_, text) => /"step":\s*"store"[^}]*"mark":\s*"done"/.test(text), 'before')
    const write = async (name: string, text: string) => void (await life.touch(text, () => real.fileStore.write(name, text)))
    const context = contextOf('killed', local, { signal: life.signal })
    await expect(snapshot(await real.agent({ ...real.fileStore, write }))(context, payload)).rejects.toThrow(/killed/)
    const { snapshotId } = await take('killed')
    expect(await leftOver()).toEqual([])
    const { snapshots } = await real.agent()
    const stored = (await snapshots.list(local)).filter(({ commandId }) => commandId === 'killed')
    expect(stored.map(({ id }) => id)).toEqual([snapshotId])
  })

  test('a database that dies in the midst of its dump, or does not run at all, fails it, and nothing is left behind', async () => {
    const id = (await real.engine.containers(real.box.project)).find(({ service }) => service === 'postgres')!.id
    // pg_dump waits for this table, so that it is in the midst of its work for certain.
    const hold = 'begin; lock table events in access exclusive mode; select pg_sleep(60)'
    const held = real.engine.exec(id, ['psql', '-X', '-U', 'postgres', '-d', 'synapse', '-c', hold])
    let stopped: Promise<void> | undefined
    const stopSoon = () => {
      stopped ??= new Promise((resolve) => setTimeout(resolve, 1_000)).then(() => real.engine.stop(real.box.project, ['postgres']))
    }
    const context = contextOf('dying-database', local, { progress: ({ step }) => void (step === 'dump' && stopSoon()) })
    try {
      await expect(snapshot(await real.agent())(context, payload)).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
      expect(await leftOver()).toEqual([])
      await stopped
      await expect(take('without-database')).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
      expect(await leftOver()).toEqual([])
    } finally {
      await held.catch(() => undefined)
      await real.engine.stop(real.box.project, ['postgres'])
      await real.engine.start(real.box.project, ['postgres'])
      await expect.poll(async () => (await real.servers.probe(real.box)).verdict, { timeout: 60_000, interval: 500 }).toBe('ok')
    }
  })

  test('with a session of its own a command takes and restores, but forgets nothing and reaches no other tenant', async () => {
    const own = { ...(await sessionOf('ten_own')), mayCreate: true }
    expect(own.env).toMatchObject({ AWS_SESSION_TOKEN: expect.any(String) })
    expect(Object.values(own.env)).not.toContain(bucket.env.AWS_SECRET_ACCESS_KEY)
    const { snapshots } = await real.agent()
    await snapshots.prepare(own)
    const file = join(real.folder, 'of-the-session')
    await writeFile(file, 'kept')
    const { id } = await snapshots.take(own, { tier: 'manual', commandId: 'by-session', slug, paths: [file] })
    await snapshots.restore(own, { id, path: real.folder, into: join(real.folder, 'back') })
    expect(await readFile(join(real.folder, 'back', 'of-the-session'), 'utf8')).toBe('kept')
    await expect(snapshots.forget(own, [id])).rejects.toMatchObject({ code: 'SNAPSHOT_FAILED' })
    await expect(snapshots.prepare({ ...own, repository: own.repository.replace('ten_own', 'ten_other') })).rejects.toThrow(/Denied/)
    await expect(snapshots.prepare(remote)).resolves.toMatchObject({ repositoryId: expect.any(String) })
  })

  test('a bucket that is gone, another one and the credentials of another account are told apart', async () => {
    const { snapshots } = await real.agent()
    const inBucket = (name: string): Repository => ({ ...remote, repository: remote.repository.replace('/snapshots/', `/${name}/`) })
    await Promise.all(['first', 'other', 'bare'].map((name) => bucket.makeBucket(name)))
    const { repositoryId } = await snapshots.prepare(inBucket('first'))
    await snapshots.prepare(inBucket('other'))
    const file = join(real.folder, 'of-buckets')
    await writeFile(file, 'kept')
    /** As the daemon sends it once it knows the repository. */
    const ends = async (change: Partial<Repository>) => {
      const known = { ...inBucket('first'), mayCreate: false, repositoryId, ...change }
      const { code, message } = await snapshots.prepare(known).then(
        () =>
          snapshots
            .take(known, { tier: 'manual', commandId: 'by-bucket', slug, paths: [file] })
            .then(() => ({ code: 'taken', message: '' })),
        (error) => error,
      )
      return `${code} ${/its bucket does not exist|no repository is there|is there instead of|refuses its credentials/.exec(message)?.[0] ?? ''}`
    }
    expect(await ends({})).toBe('taken ')
    expect(await ends({ repository: inBucket('other').repository })).toBe('SNAPSHOT_STORE_LOST is there instead of')
    expect(await ends({ repository: inBucket('bare').repository })).toBe('SNAPSHOT_STORE_LOST no repository is there')
    const elsewhere = await sessionOf('ten_elsewhere')
    const refused = 'SNAPSHOT_STORE_UNAVAILABLE refuses its credentials'
    expect(await ends({ env: elsewhere.env })).toBe(refused)
    expect(await ends({ env: { ...bucket.env, AWS_ACCESS_KEY_ID: 'unknown' } })).toBe(refused)
    expect(await ends({ env: { ...bucket.env, AWS_SECRET_ACCESS_KEY: 'another password' } })).toBe(refused)
    await bucket.dropBucket('first')
    expect(await ends({})).toBe('SNAPSHOT_STORE_LOST its bucket does not exist')
    // An account that may not see the buckets learns nothing of them.
    expect(await ends({ env: elsewhere.env })).toBe(refused)
    await expect(snapshots.prepare(inBucket('first'))).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE' })
  })

  test('in a bucket by plain HTTP it is the same, but only the daemon looks after it', async () => {
    const taken = await take('in-a-bucket', remote)
    const agent = await real.agent()
    const folder = join(real.folder, 'from-bucket')
    const wanted = { repository: remote, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder }
    expect((await fetchSnapshot(agent, wanted)).manifest).toMatchObject({ slug, commandId: 'in-a-bucket' })
    const refused = maintainSnapshots(agent)(contextOf('tend-bucket', remote), { ...tending, forget: [taken.snapshotId] })
    await expect(refused).rejects.toMatchObject({ code: 'CONFLICT' })
    await mkdir(join(real.folder, 'daemon-cache'))
    const care = resticMaintenance({ program: readTestbed().restic, cacheFolder: join(real.folder, 'daemon-cache') })
    const tended = await maintainRepository({ care, repository: remote }, { forget: [taken.snapshotId], prune: true, check: 'data' })
    expect(tended).toMatchObject({ forgotten: [taken.snapshotId], present: [], check: { ok: true } })
    expect(tended.freedBytes).toBeGreaterThan(100_000)
    await bucket.stop()
    const begun = performance.now()
    await expect(take('no-bucket', remote)).rejects.toMatchObject({ code: 'SNAPSHOT_STORE_UNAVAILABLE' })
    expect(performance.now() - begun).toBeLessThan(30_000)
    expect(await leftOver()).toEqual([])
  })

  test('a damaged store is found and named, and a healthy one is pruned', async () => {
    const tend = async (commandId: string, change: Partial<Parameters<ReturnType<typeof maintainSnapshots>>[1]>) =>
      maintainSnapshots(await real.agent())(contextOf(commandId, local), { ...tending, ...change })
    const { present } = await tend('list', {})
    const old = present.map(({ snapshotId }) => snapshotId).filter((id) => id !== daily.snapshotId)
    const tended = await tend('prune', { forget: old, prune: true, check: 'structure' })
    expect(tended).toMatchObject({ forgotten: old, check: { ok: true } })
    expect(tended.present.map(({ snapshotId }) => snapshotId)).toEqual([daily.snapshotId])
    const pack = await largestPack(join(real.folder, 'repository', 'data'))
    await chmod(pack, 0o600)
    const file = await open(pack, 'r+')
    await file.write(Buffer.from('damage'), 0, 6, 1_000)
    await file.close()
    const damaged = { ok: false, error: { code: 'SNAPSHOT_FAILED', message: expect.stringContaining(pack.slice(-64)) } }
    expect(await tend('check', { check: 'data' })).toMatchObject({ check: damaged })
  })
})

async function largestPack(folder: string): Promise<string> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => /[0-9a-f]{64}$/.test(name))
  const sizes = await Promise.all(names.map(async (name) => ({ path: join(folder, name), size: (await stat(join(folder, name))).size })))
  return sizes.sort((a, b) => b.size - a.size)[0]!.path
}
