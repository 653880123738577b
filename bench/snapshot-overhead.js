import { execFileSync } from 'node:child_process'
import {
  cpSync,
  createReadStream,
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { execa } from 'execa'
import { fetchSnapshot, takeBoxSnapshot } from '../dist/agent/backup/index.js'
import { boxServers } from '../dist/agent/box-servers/index.js'
import { dockerEngine } from '../dist/agent/docker/index.js'
import { fillVolumes } from '../dist/agent/rebuild/index.js'
import { resticSnapshots } from '../dist/agent/snapshots/index.js'
import { syncDisk } from '../dist/agent/snapshots/restic-snapshots.js'
import { systemClock, systemRandom } from '../dist/node/index.js'
import { sized } from './size.js'
import { timedPort, timeStep, timeSteps } from './step-times.js'

const rounds = sized(3, 1)
const rows = sized(1_000_000, 1000)
/** In media and objects, half of them in each: `[how many, bytes]` of thumbnails, photos and papers, and films. */
const files = [
  [sized(1_000, 10), 30_000],
  [sized(400, 2), 2_000_000],
  [sized(20, 0), 50_000_000],
]
const most = 1.1
const what = [
  'snapshot through the agent against pg_dump and plain restic',
  'restore through the agent against plain restic and pg_restore',
]
const reach = `at most ${most}×`

const testbedFile = join(process.env.TENANTRY_TESTBED_CACHE ?? '/var/cache/tenantry-testbed', 'testbed.json')

/**
 * The same database, media and objects are taken and brought back by both, each into a repository of its own that begins as a copy of one: restic makes
 * each so slow to open as it finds the machine at that moment, and two could differ by half. They are taken one after the other with the
 * order changed at each round: whoever is second finds what the first left in the disk's cache. By hand means what a careful shell script
 * does, step by step: it proves no sum, counts no rows, lists no dump and syncs no disk. All that the agent does besides is in the ratio.
 * There is as much of it as a school's box is taken to have, at the lower end: some hundred MB of database, and files of a few GB (1.8 here), most
 * of which are small while most of the bytes are in few. It was 0.4 GB of files once, by which the start of programs weighed more: ratios of then and
 * now are not to be compared.
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
      for (const side of inTurn) side.takenMs = await timed(side.take, `snapshot ${side.name}`)
      taken.push(ours.takenMs / plain.takenMs)
      for (const side of inTurn) {
        await world.emptyDatabase()
        execFileSync('sync')
        side.restoredMs = await timed(side.restore, `restore ${side.name}`)
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

/** A program in a container, with the beginning of what it is asked. */
const programOf = (method, [, argv, options]) =>
  method === 'exec'
    ? [argv[0], argv[2], typeof options?.stdin === 'string' ? options.stdin.slice(0, 60) : ''].join(' ').replaceAll('\n', ' ')
    : method

async function timed(work, title) {
  const begun = performance.now()
  await timeSteps(title, work)
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
  const engine = timedPort(dockerEngine({ dockerHost, dockerConfig, docker }), programOf)
  const servers = boxServers({ engine, clock: systemClock, random: systemRandom })
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
  for (const [count, bytes] of files)
    for (let file = 0; file < count; file++) writeFileSync(join(folders[file % 2], `${bytes}-${file}`), systemRandom.bytes(bytes))
  const repository = join(folder, 'repository')
  execFileSync(restic, ['-r', repository, '--no-cache', 'init'], { input: 'a key\n', stdio: ['pipe', 'ignore', 'inherit'] })
  return {
    ...{ folder, engine, servers, box, folders, restic, repository, docker, dockerHost, id, emptyDatabase },
    remove: async () => {
      await engine.down(project, { volumes: true })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function byHand({ folder, box, folders, restic, repository, docker, dockerHost, id, emptyDatabase }, round) {
  const at = join(folder, `by-hand-${round}`)
  const [dump, back] = [join(at, 'dump'), join(at, 'back')]
  mkdirSync(dump, { recursive: true })
  cpSync(repository, join(at, 'repository'), { recursive: true })
  const run = (...args) =>
    timeStep(`restic ${args[0]}`, () =>
      execa(restic, ['-r', join(at, 'repository'), '--cache-dir', join(at, 'cache'), ...args], { input: 'a key\n' }),
    )
  /** @returns {[string, string[], { env: Record<string, string>, buffer: false, reject: false }]} */
  const inBox = (...args) => [docker, ['exec', '-i', id, ...args], { env: { DOCKER_HOST: dockerHost }, buffer: false, reject: false }]
  const toFile = async (name, ...args) => {
    const child = execa(...inBox(...args))
    await pipeline(child.stdout, createWriteStream(join(dump, name)))
    if ((await child).failed) throw new Error(`${args[0]} failed`)
  }
  const login = ['-h', '127.0.0.1', '-U', 'synapse']
  return {
    name: 'by hand',
    folder: at,
    take: async () => {
      await toFile('database.dump', 'pg_dump', '-Fc', '--no-sync', ...login, '-d', 'synapse')
      await toFile('globals.sql', 'pg_dumpall', '--globals-only', ...login)
      await run('backup', dump, box.project.folder, ...folders)
    },
    restore: async () => {
      await emptyDatabase()
      await run('restore', 'latest', '--target', back)
      await timeStep('pg_restore', async () => {
        const child = execa(...inBox('pg_restore', '--exit-on-error', ...login, '-d', 'synapse'))
        await pipeline(createReadStream(join(back, dump, 'database.dump')), child.stdin)
        if ((await child).failed) throw new Error('pg_restore failed')
      })
      // Whoever brings a database back sees to its statistics: without them it is slow for hours.
      await timeStep('analyze', () => execa(...inBox('psql', ...login, '-d', 'synapse', '-c', 'analyze')).then())
    },
  }
}

function throughAgent({ folder, engine, servers, box, restic, repository: empty }, round) {
  const at = join(folder, `through-agent-${round}`)
  cpSync(empty, join(at, 'repository'), { recursive: true })
  const repository = { repository: `file:${join(at, 'repository')}`, password: 'a key', env: {} }
  const sync = (folder, environment) => timeStep('sync of the disk', () => syncDisk(folder, environment))
  const snapshots = timedPort(resticSnapshots({ program: restic, owner: at, cacheFolder: join(at, 'cache'), sync }))
  const deps = { engine, servers, snapshots, clock: systemClock, workFolder: join(at, 'work') }
  const installed = { migrationsHead: '0000', postgres: '15', synapse: 'unknown', minio: 'unknown' }
  let taken
  return {
    name: 'through the agent',
    folder: at,
    take: async () => {
      await snapshots.prepare(repository)
      /** @type {import('../dist/agent/backup/take-box-snapshot.js').BoxSnapshotRequest} */
      const request = {
        box: { ...box, migrationsHead: '0000' },
        repository,
        tier: 'manual',
        commandId: `bench-${round}`,
        images: {},
        installed,
        live: true,
      }
      taken = (await takeBoxSnapshot(deps, request)).taken
    },
    restore: async () => {
      const wanted = { repository, snapshotId: taken.snapshotId, manifestSha256: taken.snapshotSha256, folder: join(at, 'back') }
      const { manifest, dumpFolder } = await fetchSnapshot(deps, wanted)
      await fillVolumes(deps, box, {
        ...wanted,
        fetched: { manifest, dumpFolder },
        folderOf: async ({ key }) => join(at, 'data', key),
        upDatabase: async () => undefined,
      })
    },
  }
}
