// Downtime of the import of a foreign stack, at its public address: through the agent, whose copy is hot or a dump, and by hand.
import { chownSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { execa } from 'execa'
import { hostDisk } from '../dist/agent/backup/index.js'
import { boxServers } from '../dist/agent/box-servers/index.js'
import { composeRecord, factFinder, localBoxes, portInUse } from '../dist/agent/boxes/index.js'
import { dockerEngine } from '../dist/agent/docker/index.js'
import { fileLocks, folderStore, openJournal } from '../dist/agent/journal/index.js'
import { boxExecutors } from '../dist/agent/program/index.js'
import { resticSnapshots } from '../dist/agent/snapshots/index.js'
import { systemClock, systemRandom } from '../dist/node/index.js'
import { readTestbed } from './real-box.js'
import { sized } from './size.js'

const gigabytes = Number(process.env.BENCH_GIGABYTES ?? sized('1', '0'))
const [mediaFiles, mediaFileBytes] = sized([500, 10e6], [5, 1e6])
/** Rows of about 350 bytes. */
const rowsPerGigabyte = 3_000_000
const maxSeconds = 15
const ports = { public: 17_930, platform: 17_931, probe: 17_932 }

export async function importDowntime() {
  const testbed = readTestbed()
  if (!testbed) return [{ what: 'downtime of an import', measured: 'no test bed', reach: `at most ${maxSeconds} s`, ok: undefined }]
  // The agent's locks do not keep a process alive.
  const alive = setInterval(() => undefined, 1_000)
  const stack = await openStack(testbed)
  try {
    await stack.fill()
    const size = `${gigabytes} GB of database, ${((mediaFiles * mediaFileBytes) / 1e9).toFixed(1)} GB of media`
    const hot = await stack.downtimeOf(() => stack.importIt())
    await stack.undo()
    await stack.sql('create extension pg_trgm')
    const dumped = await stack.downtimeOf(() => stack.importIt(['extensions']))
    await stack.undo()
    await stack.sql('drop extension pg_trgm')
    const byHand = await stack.downtimeOf(() => stack.byHand())
    const row = (what, seconds, limit) => ({
      what: `downtime (${size}): ${what}`,
      measured: `${seconds.toFixed(1)} s`,
      reach: limit === undefined ? 'for comparison' : `at most ${limit} s`,
      ok: limit === undefined || seconds <= limit,
    })
    return [
      row('import, hot copy', hot, maxSeconds),
      row('import, dump (the stack has an extension)', dumped),
      row('by hand: stop, pg_dump -Fc, pg_restore, copy of the media, up', byHand),
    ]
  } finally {
    await stack.remove()
    clearInterval(alive)
  }
}

const homeserver = (chatDomain, database) => `server_name: ${chatDomain}
report_stats: false
listeners:
  - { port: 8008, type: http, tls: false, bind_addresses: ['0.0.0.0'], resources: [{ names: [client], compress: false }] }
database: { name: psycopg2, args: { user: synapse, password: bench, dbname: synapse, host: ${database}, cp_min: 2, cp_max: 5 } }
media_store_path: /media
signing_key_path: /data/signing.key
macaroon_secret_key: bench
registration_shared_secret: bench
trusted_key_servers: []
suppress_key_server_warning: true
`

/** As the documents of Synapse and of the image write it: the chat server's role is the superuser. */
const composeOf = ({ synapse, postgres }, published) => `services:
  synapse:
    image: ${synapse}
    entrypoint: ["/bin/sh", "-c", "chown 991:991 /media && exec /start.py"]
    environment: { SYNAPSE_CONFIG_PATH: /data/homeserver.yaml }
    ports: ["127.0.0.1:${published}:8008"]
    volumes: ["./synapse:/data", "media:/media"]
    restart: unless-stopped
  postgres:
    image: ${postgres}
    environment: { POSTGRES_USER: synapse, POSTGRES_PASSWORD: bench, POSTGRES_INITDB_ARGS: --encoding=UTF8 --locale=C }
    volumes: ["db:/var/lib/postgresql/data"]
    restart: unless-stopped
volumes: { db: {}, media: {} }
`

async function openStack({ images, docker, dockerHost, dockerConfig, registry, restic }) {
  const slug = `bench-import-${process.pid}`
  const chatDomain = `${slug}.test`
  const published = ports.public + 3
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tenantry-bench-')))
  const stateFolder = join(folder, 'state')
  const engine = dockerEngine({ dockerHost, dockerConfig, docker })
  const boxes = localBoxes(stateFolder)
  const executors = boxExecutors({
    ...{ clock: systemClock, random: systemRandom, stateFolder, engine, boxes, portInUse, disk: hostDisk },
    servers: boxServers({ engine, clock: systemClock, random: systemRandom }),
    findFacts: factFinder({ engine, clock: systemClock, disk: hostDisk, compose: composeRecord({ stateFolder, boxes }) }),
    snapshots: resticSnapshots({ program: restic, owner: folder, cacheFolder: join(folder, 'cache') }),
    journal: await openJournal({ store: folderStore(join(folder, 'journal')), clock: systemClock }),
    locks: fileLocks(join(folder, 'locks')),
    settings: {
      boxesFolder: join(folder, 'boxes'),
      templateFolder: new URL('../config/box-template', import.meta.url).pathname,
      allowedImages: [`${registry}/tenantry/*`],
      binds: { public: '127.0.0.1', platform: '127.0.0.1' },
      maxUploadMegabytes: 50,
    },
  })
  const env = { DOCKER_HOST: dockerHost, DOCKER_CONFIG: dockerConfig, PATH: process.env.PATH }
  const compose = (name, ...args) =>
    execa(docker, ['compose', '-p', name, ...args], { cwd: join(folder, name), env, extendEnv: false, stdin: 'ignore' })
  const used = { synapse: images['synapse-1.157.1'].ref, postgres: images.postgres.ref }
  const write = (name) => {
    mkdirSync(join(folder, name, 'synapse'), { recursive: true })
    writeFileSync(join(folder, name, 'compose.yaml'), composeOf(used, published))
    writeFileSync(join(folder, name, 'synapse/homeserver.yaml'), homeserver(chatDomain, 'postgres'))
    writeFileSync(
      join(folder, name, 'synapse/signing.key'),
      `ed25519 a_bench ${Buffer.alloc(32, 9).toString('base64').replaceAll('=', '')}\n`,
    )
    for (const file of ['', 'homeserver.yaml', 'signing.key']) chownSync(join(folder, name, 'synapse', file), 991, 991)
  }
  const answers = async () =>
    fetch(`http://127.0.0.1:${published}/_matrix/client/versions`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ status }) => status === 200,
      () => false,
    )
  const known = { slug, boxId: `box_${slug}`, ownershipEpoch: 1 }
  let commands = 0
  const began = performance.now()
  const contextOf = () => ({
    ...{ commandId: `bench.${commands++}.import`, signal: new AbortController().signal },
    /** @param {any} progress */
    progress: ({ step, detail }) => {
      if (process.env.BENCH_TIMELINE === '1') console.error(`${(performance.now() - began).toFixed(0).padStart(8)} ${step} ${detail ?? ''}`)
    },
    ...{ secrets: async () => ({}), migrations: async () => [], deliver: async () => undefined },
    sendLines: async () => /** @type {const} */ ('ended'),
  })
  const containerOf = async (project) => `${project}-postgres-1`
  const psql = async (project, text) => {
    const argv = ['exec', await containerOf(project), 'psql', '-h', '127.0.0.1', '-U', 'synapse', '-d', 'synapse', '-c', text]
    await execa(docker, argv, { env, extendEnv: false, stdin: 'ignore' })
  }
  const remove = async () => {
    for (const name of [slug, `box-${slug}`, `${slug}-new`]) await engine.removeProject(name)
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    write(slug)
    await compose(slug, 'up', '-d')
    while (!(await answers())) await sleep(300)
    await executors['tenant-box.adopt'](contextOf(), { ...known, folder: join(folder, slug), project: slug })
  } catch (error) {
    await remove()
    throw error
  }
  return {
    remove,
    sql: (text) => psql(slug, text),
    /** With statistics and frozen, so that no autovacuum runs beside a case. */
    fill: async () => {
      const count = Math.round(gigabytes * rowsPerGigabyte) + 1
      const columns = 'n, md5(n::text) as id, repeat(md5((n * 7)::text), 8) as body'
      await psql(slug, `create table bench_filler as select ${columns} from generate_series(1, ${count}) n`)
      await psql(slug, 'vacuum (freeze, analyze) bench_filler')
      const media = join(await engine.volumePath(`${slug}_media`), 'local_content', 'aa', 'bb')
      mkdirSync(media, { recursive: true })
      for (let file = 0; file < mediaFiles; file++) writeFileSync(join(media, `bench-${file}`), systemRandom.bytes(mediaFileBytes))
      for (const file of Array(mediaFiles).keys()) chownSync(join(media, `bench-${file}`), 991, 991)
      await execa('sync')
    },
    importIt: async (drop = []) => {
      const { facts } = await executors['tenant-box.import'](contextOf(), {
        ...{ ...known, chatDomain, publicUrl: `http://127.0.0.1:${published}`, drop, ports },
        versions: { synapse: '1.163.2', postgres: '15.99' },
        images: {
          ...{ edge: images.edge.ref, synapse: images['synapse-1.163.2'].ref },
          ...{ postgres: images.postgres.ref, minio: images.minio.ref },
        },
        probe: { consecutive: 3, spacingMs: 60_000, timeoutMs: 1_800_000 },
        ...{ migrationsHead: '0000', deadlineMs: 3_600_000 },
      })
      console.error(JSON.stringify(facts))
    },
    undo: async () => {
      await executors['tenant-box.undo_import'](contextOf(), known)
      while (!(await answers())) await sleep(300)
    },
    /** The new stack has an empty database and pulled images before; nobody compares anything. */
    byHand: async () => {
      const name = `${slug}-new`
      write(name)
      await compose(name, 'up', '-d', '--no-deps', 'postgres')
      await compose(name, 'create', 'synapse')
      await sleep(5_000)
      await compose(slug, 'stop', 'synapse')
      const dump = join(folder, 'by-hand.dump')
      const run = ['exec', '-i']
      const login = ['-h', '127.0.0.1', '-U', 'synapse', '-d', 'synapse']
      await execa(docker, [...run, await containerOf(slug), 'pg_dump', '-Fc', ...login], {
        ...{ env, extendEnv: false, stdin: 'ignore', stdout: { file: dump }, buffer: false },
      })
      await execa(docker, [...run, await containerOf(name), 'pg_restore', ...login], { env, extendEnv: false, stdin: { file: dump } })
      const [from, into] = await Promise.all([slug, name].map((one) => engine.volumePath(`${one}_media`)))
      await execa('cp', ['-a', `${from}/.`, `${into}`])
      await compose(name, 'up', '-d', '--no-deps', 'synapse')
    },
    /** Seconds from the first failed request to the last; asked ten times a second, until twenty have succeeded after the work. */
    downtimeOf: async (work) => {
      let isOver = false
      const failed = []
      const poll = async () => {
        for (let good = 0; good < 20 || !isOver; ) {
          const at = performance.now()
          if (await answers()) good = isOver ? good + 1 : 0
          else {
            good = 0
            failed.push([at, performance.now()])
          }
          await sleep(Math.max(0, 100 - (performance.now() - at)))
        }
      }
      const polling = poll()
      await work().finally(() => {
        isOver = true
      })
      await polling
      return failed.length === 0 ? 0 : (failed.at(-1)[1] - failed[0][0]) / 1000
    },
  }
}
