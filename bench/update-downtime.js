// Downtime of an update of a real box, at its public address: through the agent, by plain compose, and by a careful shell script.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { execa } from 'execa'
import { parse } from 'yaml'
import { clearDump, hostDisk, takeBoxSnapshot } from '../dist/agent/backup/index.js'
import { fileLocks, folderStore, onceOnly, openJournal } from '../dist/agent/journal/index.js'
import { resticSnapshots } from '../dist/agent/snapshots/index.js'
import { update } from '../dist/agent/update/index.js'
import { systemClock, systemRandom } from '../dist/node/index.js'
import { makeBox, readTestbed } from './real-box.js'
import { sized } from './size.js'

const [former, target] = ['synapse-1.157.1', 'synapse-1.163.2']
const installed = { migrationsHead: '0000', postgres: '15', synapse: 'unknown', minio: 'unknown' }
/** Sizes of the database in GB, measured in this order. 0: an empty box, which the others are compared with. */
const sizes = (process.env.BENCH_GIGABYTES ?? sized('0,1', '0')).split(',').map(Number)
/** Rows of about 350 bytes. */
const rowsPerGigabyte = 3_000_000
const mediaBytes = 324e6
/** The broken server is rolled back when it has failed in the same way for this long; the default is two minutes. */
const steadyFailureMs = 15_000

const table = new URL('../config/synapse-schema.yaml', import.meta.url)
const { harmlessUpdates } = parse(readFileSync(table, 'utf8'))

const hotUpdate = 'update, hot copy'
/** `empty`: seconds that it may take on an empty box. `ratio`: what it may take on any other, against the empty one. */
const all = [
  { what: 'update, snapshot before', work: (box) => box.throughAgent(target) },
  { what: hotUpdate, work: (box) => box.throughAgent(target, { snapshot: 'hot' }), empty: 5, ratio: 1.25 },
  {
    what: 'image that dies at its start, hot copy',
    work: (box) => box.throughAgent('synapse-dies', { snapshot: 'hot' }),
    empty: 12,
    ratio: 1.5,
  },
  {
    what: `image that fails its probes for ${steadyFailureMs / 1000} s, hot copy`,
    work: (box) => box.throughAgent('synapse-broken', { snapshot: 'hot' }, { steadyFailureMs }),
    ratio: 1.5,
  },
  { what: 'image that dies at its start, snapshot before', work: (box) => box.throughAgent('synapse-dies') },
  { what: 'plain compose up', work: (box) => box.plainCompose(target) },
  { what: 'by hand: stop, pg_dump -Fc, up', work: (box) => box.byHand(target) },
]

/** `BENCH_CASES=hot` measures those with this in their name only. */
const cases = all.filter(({ what }) => what.includes(process.env.BENCH_CASES ?? sized('', hotUpdate)))

/** With `BENCH_TIMELINE=1`: prints begin and length of each call to a port, to find what an update waits for. */
const traced = (name, port) =>
  process.env.BENCH_TIMELINE !== '1'
    ? port
    : new Proxy(port, {
        get: (of, key) => {
          if (typeof of[key] !== 'function') return of[key]
          return (...args) => {
            const begun = performance.now()
            const result = of[key](...args)
            const print = () => {
              const [at, ms] = [begun, performance.now() - begun].map((one) => one.toFixed(0).padStart(7))
              const what = key === 'append' ? `${args[1].step} ${args[1].mark}` : ''
              console.error(`${at} ${ms} ms ${name}.${String(key)} ${what}`)
            }
            if (typeof result?.then === 'function') result.then(print, print)
            return result
          }
        },
      })

const progress = ({ step, detail }) => {
  if (process.env.BENCH_TIMELINE === '1' && detail) console.error(`${performance.now().toFixed(0).padStart(7)} ${step}: ${detail}`)
}

export async function updateDowntime() {
  const testbed = readTestbed()
  if (!testbed) return [{ what: 'downtime of an update', measured: 'no test bed', reach: 'at most 5 s', ok: undefined }]
  const box = await openBox(testbed)
  try {
    const measured = []
    for (const gigabytes of sizes) {
      await box.fillTo(gigabytes)
      await box.takeNightly()
      for (const one of cases) measured.push({ ...one, gigabytes, ...(await measure(box, one)) })
    }
    return measured.flatMap((one) => rowsOf(one, measured))
  } finally {
    await box.remove()
  }
}

async function measure(box, { work }) {
  const measured = await box.downtimeOf(() => work(box))
  await box.backToFormer()
  return measured
}

/** The downtime, and for what must not grow with the database: how much longer it is than on the empty box. */
function rowsOf({ what, empty, ratio, gigabytes, seconds, addedBytes }, measured) {
  const size = gigabytes === 0 ? 'empty box' : `${gigabytes} GB`
  const limit = gigabytes === 0 ? empty : undefined
  const reach = limit === undefined ? 'for comparison' : `at most ${limit} s`
  const rows = [
    { what: `downtime (${size}): ${what}`, measured: `${seconds.toFixed(1)} s`, reach, ok: limit === undefined || seconds <= limit },
  ]
  const base = measured.find((one) => one.gigabytes === 0 && one.what === what)
  if (gigabytes > 0 && ratio !== undefined && base) {
    const times = seconds / base.seconds
    rows.push({
      what: 'the same against the empty box',
      measured: `${times.toFixed(2)} ×`,
      reach: `at most ${ratio} ×`,
      ok: times <= ratio,
    })
  }
  if (gigabytes > 0 && what === hotUpdate) rows.push(memoryRow(size, addedBytes))
  return rows
}

/** This process is the agent, and the bench beside it; an idle agent has about 90 MiB. */
const memoryRow = (size, addedBytes) => ({
  what: `memory that an update with a hot copy adds (${size})`,
  measured: `${Math.round(addedBytes / 2 ** 20)} MiB`,
  reach: 'under 60 MiB',
  ok: addedBytes < 60 * 2 ** 20,
})

async function openBox(testbed) {
  const { images, docker, dockerHost, dockerConfig, restic, registry } = testbed
  const slug = `bench-update-${process.pid}`
  const ports = { public: 18_610, platform: 18_611, probe: 18_612 }
  const made = await makeBox(testbed, { slug, chatDomain: `${slug}.test`, ports, synapse: former })
  const { folder, engine, project, boxes, servers, remove } = made
  // The store is another machine with disks of its own: its writes must not wait for those of the box.
  const storeFolder = mkdtempSync('/dev/shm/tenantry-bench-store-')
  const repository = { repository: `file:${join(storeFolder, 'repository')}`, password: 'a key', env: {}, mayCreate: true }
  const journal = await openJournal({ store: folderStore(join(folder, 'journal')), clock: systemClock })
  const deps = {
    ...{ engine: traced('engine', engine), servers: traced('servers', servers), journal: traced('journal', journal) },
    ...{ boxes, clock: systemClock, random: systemRandom, disk: hostDisk },
    once: onceOnly({ journal, locks: fileLocks(join(folder, 'locks')) }),
    snapshots: traced('snapshots', resticSnapshots({ program: restic, owner: folder, cacheFolder: join(folder, 'cache') })),
    workFolder: join(folder, 'work'),
    allowedImages: [`${registry}/tenantry/*`],
  }
  const env = { DOCKER_HOST: dockerHost, DOCKER_CONFIG: dockerConfig, PATH: process.env.PATH }
  const run = (args, more = {}) => execa(docker, args, { env, extendEnv: false, stdin: 'ignore', ...more })
  const composed = ['compose', '-p', project.name, '-f', project.composeFile, '--project-directory', project.folder]
  const compose = (...args) => run([...composed, ...args])
  const database = async () => (await engine.containers(project)).find(({ service }) => service === 'postgres').id
  const rewrite = (key) => {
    const text = readFileSync(project.composeFile, 'utf8')
    writeFileSync(project.composeFile, text.replace(/image: .*synapse.*/, `image: ${images[key].ref}`))
  }
  const answers = async () =>
    fetch(`http://127.0.0.1:${ports.public}/_matrix/client/versions`, { signal: AbortSignal.timeout(2_000) }).then(
      ({ status }) => status === 200,
      () => false,
    )
  let commands = 0
  let filled = 0
  const sql = async (text, user = 'synapse') => {
    const psql = ['psql', '-h', '127.0.0.1', '-U', user, '-d', 'synapse', '-c', text]
    const { exitCode, stderr } = await engine.exec(await database(), psql)
    if (exitCode !== 0) throw new Error(stderr)
  }
  return {
    remove: async () => {
      await remove()
      rmSync(storeFolder, { recursive: true, force: true })
    },
    /** The snapshot of last night, which every box has: the store knows its media. */
    takeNightly: async () => {
      const commandId = `bench.${commands++}.snapshot`
      await deps.snapshots.prepare(repository)
      await takeBoxSnapshot(deps, {
        box: { ...(await boxes.find(slug)), migrationsHead: '0000' },
        repository,
        tier: 'daily',
        commandId,
        images: {},
        installed,
        live: true,
      })
      await clearDump(deps, commandId)
    },
    /** With statistics and frozen, so that no autovacuum runs beside a case. */
    fillTo: async (gigabytes) => {
      if (gigabytes === 0) return
      const table = `bench_filler_${String(gigabytes).replace('.', '_')}`
      const count = Math.max(1, Math.round((gigabytes - filled) * rowsPerGigabyte))
      const columns = 'n, md5(n::text) as id, repeat(md5((n * 7)::text), 8) as body'
      await sql(`create table ${table} as select ${columns} from generate_series(1, ${count}) n`)
      await sql(`vacuum (freeze, analyze) ${table}`)
      await sql('checkpoint', 'postgres')
      const media = await engine.volumePath(`box-${slug}-media`)
      if (filled === 0)
        for (let file = 0; file < 54; file++) writeFileSync(join(media, `bench-${file}`), systemRandom.bytes(mediaBytes / 54))
      filled = gigabytes
    },
    throughAgent: async (key, fence = {}, probe = {}) => {
      const { ref, digest } = images[key]
      /** @type {any} */
      const payload = {
        ...{ slug, boxId: `box_${slug}`, ownershipEpoch: 1, deadlineMs: 3_600_000 },
        targets: { services: { synapse: { image: ref, digest } }, migrationsHead: '0000' },
        probe: { consecutive: 3, spacingMs: 5_000, timeoutMs: 1_800_000, ...probe },
        fence: { mode: 'until-proven', formerSchema: 94, harmlessUpdates, ...fence },
      }
      const context = {
        ...{ commandId: `bench.${commands++}.update`, signal: new AbortController().signal, progress },
        secrets: async () => ({ snapshots: repository }),
        ...{ migrations: async () => [], deliver: async () => undefined, sendLines: async () => /** @type {const} */ ('ended') },
      }
      const { outcome, error, fencedMs, downtime } = await update(deps)(context, payload)
      console.error(`${key}: ${outcome}, fenced ${fencedMs} ms, ${JSON.stringify(downtime)} ${error?.message ?? ''}`)
    },
    plainCompose: async (key) => {
      rewrite(key)
      await compose('up', '-d', '--no-deps', '--pull', 'never', 'synapse')
    },
    byHand: async (key) => {
      await compose('stop', 'synapse')
      const dump = ['exec', await database(), 'pg_dump', '-Fc', '-h', '127.0.0.1', '-U', 'synapse', 'synapse']
      await run(dump, { stdout: { file: join(folder, 'by-hand.dump') }, buffer: false })
      rewrite(key)
      await compose('up', '-d', '--no-deps', '--pull', 'never', 'synapse')
    },
    backToFormer: async () => {
      rewrite(former)
      await compose('up', '-d', '--no-deps', '--pull', 'never', 'synapse')
      while (!(await answers())) await systemClock.sleep(200)
      while ((await servers.probe(await boxes.find(slug))).verdict !== 'ok') await systemClock.sleep(500)
    },
    /** Seconds from the first failed request to the last; asked ten times a second, until twenty have succeeded after the work. */
    downtimeOf: async (work) => {
      let isOver = false
      const [failed, began] = [[], performance.now()]
      const beganBytes = process.memoryUsage.rss()
      let peakBytes = beganBytes
      const poll = async () => {
        for (let good = 0; good < 20 || !isOver; ) {
          const at = performance.now()
          peakBytes = Math.max(peakBytes, process.memoryUsage.rss())
          if (await answers()) good = isOver ? good + 1 : 0
          else {
            good = 0
            failed.push([at, performance.now()])
          }
          await systemClock.sleep(Math.max(0, 100 - (performance.now() - at)))
        }
      }
      const polling = poll()
      await work()
      isOver = true
      await polling
      return {
        seconds: failed.length === 0 ? 0 : (failed.at(-1)[1] - Math.max(began, failed[0][0])) / 1000,
        addedBytes: peakBytes - beganBytes,
      }
    },
  }
}
