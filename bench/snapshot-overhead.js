import { execFileSync } from 'node:child_process'
import { createReadStream, createWriteStream, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { execa } from 'execa'
import { fetchSnapshot, takeBoxSnapshot } from '../dist/agent/backup/index.js'
import { dockerEngine } from '../dist/agent/docker/index.js'
import { boxInside } from '../dist/agent/inside/index.js'
import { fillVolumes } from '../dist/agent/revive/index.js'
import { resticSnapshots } from '../dist/agent/snapshots/index.js'
import { systemClock, systemRandom } from '../dist/node/index.js'

const rounds = 3
const [rows, fileCount, fileBytes] = [1_000_000, 200, 2_000_000]
const most = 1.1
const what = [
  'snapshot through the agent against pg_dump and plain restic',
  'restore through the agent against plain restic and pg_restore',
]
const reach = `at most ${most}×`

const testbedFile = join(process.env.TENANTRY_TESTBED_CACHE ?? '/var/cache/tenantry-testbed', 'testbed.json')

/**
 * The same database, media and objects are taken and brought back by both, each into a repository of its own, one after the other with the
 * order changed at each round: whoever is second finds what the first left in the disk's cache. By hand means what a careful shell script
 * does, step by step: it proves no sum, counts no rows, lists no dump and syncs no disk. All that the agent does besides is in the ratio.
 * The disk is brought up to date before each restore: the agent's own waits for all that is written there, and would pay for the snapshots
 * of both and for what is restored by hand.
 */
export async function snapshotOverhead() {
  const testbed = existsSync(testbedFile) && JSON.parse(readFileSync(testbedFile, 'utf8'))
  if (!testbed || !engineAnswers(testbed)) return what.map((one) => ({ what: one, measured: 'no test bed', reach, ok: undefined }))
  const world = await aBoxOfData(testbed)
  try {
    const taken = []
    const restored = []
    for (let round = 0; round < rounds; round++) {
      const [plain, ours] = [byHand(world, round), throughAgent(world, round)]
      const inTurn = round % 2 === 0 ? [plain, ours] : [ours, plain]
      for (const side of inTurn) side.takenMs = await timed(side.take)
      taken.push(ours.takenMs / plain.takenMs)
      for (const side of inTurn) {
        await world.emptyDatabase()
        execFileSync('sync')
        side.restoredMs = await timed(side.restore)
      }
      restored.push(ours.restoredMs / plain.restoredMs)
      for (const { folder } of inTurn) rmSync(folder, { recursive: true, force: true })
    }
    return [taken, restored].map((ratios, at) => {
      const ratio = ratios.sort((a, b) => a - b)[Math.floor(rounds / 2)]
      return { what: what[at], measured: `${ratio.toFixed(2)}×`, reach, ok: ratio <= most }
    })
  } finally {
    await world.remove()
  }
}

async function timed(work) {
  const begun = performance.now()
  await work()
  return performance.now() - begun
}

function engineAnswers({ docker, dockerHost }) {
  try {
    execFileSync(docker, ['info'], { env: { DOCKER_HOST: dockerHost }, stdio: 'ignore', timeout: 10_000 })
    return true
  } catch {
    return false
  }
}

/** As much of a box as a snapshot is of: a PostgreSQL that runs, and two volumes full of files. */
async function aBoxOfData({ docker, dockerHost, dockerConfig, restic, images }) {
  const folder = mkdtempSync(join(tmpdir(), 'tenantry-bench-'))
  const name = `tenantry-bench-${process.pid}`
  const project = { name, folder: join(folder, 'box'), composeFile: join(folder, 'box', 'compose.yaml') }
  mkdirSync(join(project.folder, 'edge', 'fence'), { recursive: true })
  // In memory, or the image's own volume would be one more of the box's.
  const filler = `{ image: "${images.postgres.ref}", entrypoint: [sleep, infinity], stop_signal: SIGKILL, tmpfs: /var/lib/postgresql/data`
  writeFileSync(
    project.composeFile,
    `name: ${name}
services:
  postgres: { image: "${images.postgres.ref}", environment: { POSTGRES_PASSWORD: bench, TENANTRY_DATABASE: synapse }, volumes: ["postgres:/var/lib/postgresql/data"] }
  synapse: ${filler}, volumes: ["media:/media"] }
  minio: ${filler}, volumes: ["objects:/data"] }
volumes: { postgres: {}, media: {}, objects: {} }
`,
  )
  const engine = dockerEngine({ dockerHost, dockerConfig, docker })
  const inside = boxInside({ engine, clock: systemClock, random: systemRandom })
  const box = { slug: 'bench', boxId: 'box_bench', ownershipEpoch: 1, managed: true, chatDomain: 'bench.test', project, ports: null }
  await engine.up(project, ['postgres', 'synapse', 'minio'])
  const id = (await engine.containers(project)).find(({ service }) => service === 'postgres').id
  const psql = (database, sql) => engine.exec(id, ['psql', '-X', '-h', '127.0.0.1', '-U', 'postgres', '-d', database, '-c', sql])
  const emptyDatabase = async () => {
    await psql('postgres', 'drop database if exists synapse')
    await psql('postgres', 'create database synapse owner synapse template template0')
  }
  while ((await psql('postgres', 'create role synapse login superuser')).exitCode !== 0) await systemClock.sleep(300)
  await emptyDatabase()
  await psql(
    'synapse',
    `create table events as select n, md5(n::text) as id, repeat(md5((n * 7)::text), 8) as body from generate_series(1, ${rows}) n`,
  )
  await psql('synapse', 'create index on events (id)')
  const folders = await Promise.all(['media', 'objects'].map((key) => engine.volumePath(`${name}_${key}`)))
  for (let file = 0; file < fileCount; file++) writeFileSync(join(folders[file % 2], `file-${file}`), systemRandom.bytes(fileBytes))
  return {
    ...{ folder, engine, inside, box, folders, restic, docker, dockerHost, id, emptyDatabase },
    remove: async () => {
      await engine.down(project, { volumes: true })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function byHand({ folder, box, folders, restic, docker, dockerHost, id, emptyDatabase }, round) {
  const at = join(folder, `by-hand-${round}`)
  const [dump, back] = [join(at, 'dump'), join(at, 'back')]
  mkdirSync(dump, { recursive: true })
  const run = (...args) => execa(restic, ['-r', join(at, 'repository'), '--cache-dir', join(at, 'cache'), ...args], { input: 'a key\n' })
  const inBox = (...args) => [docker, ['exec', '-i', id, ...args], { env: { DOCKER_HOST: dockerHost }, buffer: false, reject: false }]
  const toFile = async (name, ...args) => {
    const child = execa(...inBox(...args))
    await pipeline(child.stdout, createWriteStream(join(dump, name)))
    if ((await child).failed) throw new Error(`${args[0]} failed`)
  }
  const login = ['-h', '127.0.0.1', '-U', 'synapse']
  return {
    folder: at,
    take: async () => {
      await run('init')
      await toFile('database.dump', 'pg_dump', '-Fc', '--no-sync', ...login, '-d', 'synapse')
      await toFile('globals.sql', 'pg_dumpall', '--globals-only', ...login)
      await run('backup', dump, box.project.folder, ...folders)
    },
    restore: async () => {
      await emptyDatabase()
      await run('restore', 'latest', '--target', back)
      const child = execa(...inBox('pg_restore', '--exit-on-error', ...login, '-d', 'synapse'))
      await pipeline(createReadStream(join(back, dump, 'database.dump')), child.stdin)
      if ((await child).failed) throw new Error('pg_restore failed')
      // Whoever brings a database back sees to its statistics: without them it is slow for hours.
      await execa(...inBox('psql', ...login, '-d', 'synapse', '-c', 'analyze'))
    },
  }
}

function throughAgent({ folder, engine, inside, box, restic }, round) {
  const at = join(folder, `through-agent-${round}`)
  const repository = { repository: `file:${join(at, 'repository')}`, password: 'a key', env: {} }
  const snapshots = resticSnapshots({ program: restic, owner: at, cacheFolder: join(at, 'cache') })
  const needs = { engine, inside, snapshots, clock: systemClock, workFolder: join(at, 'work') }
  const installed = { migrationsHead: '0000', postgres: '15', synapse: 'unknown', minio: 'unknown' }
  let taken
  return {
    folder: at,
    take: async () => {
      await snapshots.prepare(repository)
      const request = {
        box: { ...box, migrationsHead: '0000' },
        repository,
        tier: 'manual',
        commandId: `bench-${round}`,
        images: {},
        installed,
        live: true,
      }
      taken = (await takeBoxSnapshot(needs, request)).taken
    },
    restore: async () => {
      const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder: join(at, 'back') }
      const { manifest, dumpFolder } = await fetchSnapshot(needs, wanted)
      await fillVolumes(needs, box, {
        ...wanted,
        fetched: { manifest, dumpFolder },
        folderOf: async ({ key }) => join(at, 'data', key),
        upDatabase: async () => undefined,
      })
    },
  }
}
