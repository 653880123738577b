import { fork } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { openDatabase } from '../dist/daemon/db/index.js'
import { wait } from './daemon-process.js'
import { seedRollout } from './rollout-fleet.js'

const fleet = { hosts: 1000, boxesPerHost: 10 }
const boxes = fleet.hosts * fleet.boxesPerHost
/** A step of a box takes about so long; in life it is tens of seconds. */
const stepMs = 1
/** Reports within this time are one message to the replica, which stores them: waking up for each is the work of the agent channel, not of the engine. */
const batchMs = 20
/** So many are brought to their version by one engine, before another one takes over: what V8 compiles is compiled once, as in a daemon. */
const ofFirst = 0.9
const [maxCpuMs, maxRecoveryMs] = [10, 1000]

/** The engine's own share of a rollout of 10,000 boxes in real time, and how fast another replica continues. */
export async function rolloutEngine({ all = boxes } = {}) {
  // The commits are to be durable, and what a disk makes of that is not the engine's.
  const folder = mkdtempSync(join(existsSync('/dev/shm') ? '/dev/shm' : tmpdir(), 'tenantry-bench-'))
  const databaseUrl = `sqlite:${join(folder, 'tenantry.db')}`
  try {
    await seedRollout(databaseUrl, fleet)
    const agents = makeAgents(databaseUrl)
    const first = startReplica(databaseUrl, 'first', agents)
    await agents.until(all * ofFirst)
    const handled = agents.updated()
    const perActionMs = (await first.cpuMs()) / handled
    first.kill()
    await agents.freeLease()
    const second = startReplica(databaseUrl, 'second', agents)
    const recoveryMs = await second.firstStepMs()
    await agents.until(all)
    second.kill()
    await agents.close()
    return [
      {
        what: 'rollout of 10,000 boxes, CPU of the engine per box',
        measured: `${perActionMs.toFixed(2)} ms`,
        reach: `at most ${maxCpuMs} ms`,
        ok: perActionMs <= maxCpuMs,
      },
      {
        what: `another engine takes over after ${handled.toLocaleString('en')} of 10,000 boxes, to its first step`,
        measured: `${Math.round(recoveryMs)} ms`,
        reach: `under ${maxRecoveryMs} ms`,
        ok: recoveryMs < maxRecoveryMs,
      },
    ]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** `firstStepMs`: from when it was ready until it did something. */
function startReplica(databaseUrl, owner, agents) {
  const stdio = ['ignore', 'inherit', 'inherit', 'ipc', 'pipe']
  const child = fork(fileURLToPath(new URL('./rollout-replica.js', import.meta.url)), [databaseUrl, owner], { stdio })
  const ready = once(child, 'message').then(([message]) => message)
  const channel = child.stdio[4].on('error', () => undefined) // reports to a killed replica go to the next one
  const queued = createInterface({ input: channel }).on('error', () => undefined)
  const firstStep = once(queued, 'line').then(() => performance.timeOrigin + performance.now())
  let changes = []
  const report = () => {
    if (channel.writable) channel.write(`${JSON.stringify(changes)}\n`)
    changes = []
  }
  const change = (id, set) => {
    if (changes.length === 0) setTimeout(report, batchMs)
    changes.push({ id, set })
  }
  const work = (line) => {
    for (const hostId of JSON.parse(line)) agents.work(hostId, change)
  }
  queued.on('line', work)
  return {
    cpuMs: async () => {
      const answer = once(child, 'message')
      child.send('how much')
      return (await answer)[0].cpuMs
    },
    firstStepMs: async () => {
      const { atMs } = await ready
      await agents.workOn(change)
      return (await firstStep) - atMs
    },
    kill: () => {
      queued.off('line', work) // what it said last is for the next one: taken now, nobody could store how it went
      child.kill('SIGKILL')
    },
  }
}

const updateSteps = ['prefetch', 'fence', 'snapshot', 'recreate', 'probe', 'unfence']
const digest = (image) => `sha256:${Buffer.from(image).toString('hex').padEnd(64, '0').slice(0, 64)}`
const service = (image) => ({ image, digest: digest(image), state: 'running', restartCount: 0 })
const part = { ok: true, ms: 3 }

/**
 * Agents that execute commands at once and report each step. Their CPU time is that of this process. What a replica did not
 * store before it died is repeated to the next one.
 */
function makeAgents(databaseUrl) {
  const { db, close } = openDatabase(databaseUrl)
  const updated = new Set()
  const taken = new Set()
  let underWay = 0
  const report = (slug, version) => ({
    slug,
    at: new Date().toISOString(),
    installed: { migrationsHead: '0000', postgres: '15.18', synapse: version, minio: 'RELEASE.2025-09-07T16-13-09Z' },
    services: { synapse: service(`registry.bench/synapse:v${version}`) },
    fenced: false,
    ownershipEpoch: 1,
    managed: true,
    databaseBytes: 25_000_000,
  })
  const probe = () => ({
    at: new Date().toISOString(),
    verdict: 'ok',
    components: { chatApi: part, chatSync: part, database: part, objectStorage: part },
  })
  const results = {
    'tenant-box.report_versions': ({ slug }) => ({ report: report(slug, '1.157.1') }),
    'tenant-box.prefetch': ({ targets }) => ({
      digests: Object.fromEntries(Object.values(targets.services).map(({ image }) => [image, digest(image)])),
      pulledMs: 1000,
    }),
    'tenant-box.update': ({ slug, targets }) => ({
      outcome: 'committed',
      ...{ snapshotOk: true, updateOk: true, healthOk: true, rolledBack: false, error: null },
      ...{ snapshotId: 'a'.repeat(64), snapshotSha256: 'b'.repeat(64), durationMs: 240_000, fencedMs: 180_000 },
      digestsBefore: { synapse: digest('registry.bench/synapse:v1.157.1') },
      digestsAfter: Object.fromEntries(Object.entries(targets.services).map(([name, { image }]) => [name, digest(image)])),
      probes: [probe(), probe(), probe()],
      composeBackup: `compose.yaml.${slug}`,
      report: report(slug, '1.163.2'),
    }),
  }
  const steps = { 'tenant-box.report_versions': [], 'tenant-box.prefetch': ['pull', 'warm-snapshot'], 'tenant-box.update': updateSteps }
  const perform = async ({ id, kind, payload }, change) => {
    const now = () => new Date().toISOString()
    change(id, { status: 'running', lease_token: 1, started_at: now() })
    const progress = []
    for (const step of steps[kind]) {
      await wait(stepMs)
      progress.push({ step, at: now() })
      change(id, { progress: JSON.stringify(progress) })
    }
    await wait(stepMs)
    change(id, { status: 'succeeded', finished_at: now(), result: JSON.stringify(results[kind](JSON.parse(payload))) })
    if (kind === 'tenant-box.update') updated.add(id)
  }
  const queued = () => db.selectFrom('commands').select(['id', 'kind', 'payload', 'host_id']).where('status', 'in', ['queued', 'running'])
  const take = async (command, change) => {
    if (taken.has(command.id)) return
    taken.add(command.id)
    underWay++
    await perform(command, change)
    underWay--
  }
  return {
    updated: () => updated.size,
    /** All that is queued for a host. */
    work: async (hostId, change) => {
      underWay++ // a lease is not freed between this look and what is taken for it
      for (const command of await queued().where('host_id', '=', hostId).execute()) void take(command, change)
      underWay--
    },
    /** All that was left by the replica before. */
    workOn: async (change) => {
      for (const command of await queued().execute()) void take(command, change)
    },
    until: async (count) => {
      while (updated.size < count) await wait(50)
      await wait(200)
    },
    /** As if the time of the dead owner were over. */
    freeLease: async () => {
      while (underWay > 0) await wait(10)
      taken.clear()
      await db.updateTable('leases').set({ expires_at: '2000-01-01T00:00:00.000Z' }).execute()
    },
    close,
  }
}
