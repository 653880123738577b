import { type BoxCommandKind, type BoxCommandResult, boxesContract, type VersionsReport } from '../../src/core/boxes/index.ts'
import { makeClient } from '../../src/core/contract/index.ts'
import { agentContract, type LeasedCommand } from '../../src/core/hosts/index.ts'
import { isoNow, sha256Hex } from '../../src/core/kit/index.ts'
import { boxById, boxesRoutes, boxPort } from '../../src/daemon/boxes/index.ts'
import { type Db, eventsAfter } from '../../src/daemon/db/index.ts'
import { agentRoutes, commandSweep, type HostsDeps } from '../../src/daemon/hosts/index.ts'
import { silentLogger } from '../../src/node/index.ts'
import { aProbe, aReport } from './boxes.ts'
import { aBoxesWorld, aHost, aLiveBox, anOperator, type BoxesWorld, heardOf } from './boxes-world.ts'
import { shortTimes } from './host-world.ts'
import { roundsOf } from './loops.ts'
import { servedApp } from './served-app.ts'

export type LifeWorld = Awaited<ReturnType<typeof lifeWorld>>

/** Boxes on `host-1`, two more hosts, the daemon's features behind a real socket, and agents with scripted results. */
export async function lifeWorld(db: Db, change: Partial<BoxesWorld> = {}) {
  const room = await aBoxesWorld(db)
  for (const host of ['host-2', 'host-3']) await aHost(room, host)
  return { ...speaking({ ...room, ...change }), room }
}

/** A daemon over the existing database, as after a start. */
export function speaking(room: BoxesWorld) {
  const { db, clock } = room
  const side = boxPort({ ...room, secretsFor: async () => ({}) })
  const agents = { ...shortTimes, longPollMs: 0 } // no work, no wait
  const hosts = { ...room, log: silentLogger(), baseUrl: 'http://127.0.0.1', agents, boxes: side } as HostsDeps
  const url = listening(room, hosts)
  const clientOf = async (authorization: string) => ({ baseUrl: await url, headers: () => ({ connection: 'close', authorization }) })
  const agentOf = async (host: string) => {
    await db.updateTable('hosts').set({ instance_id: 'one' }).where('name', '=', host).execute()
    await heardOf(room, host)
    return makeClient(agentContract, await clientOf(host))
  }

  const offered = async (host: string, inHand: readonly LeasedCommand[] = []): Promise<LeasedCommand | null> => {
    const agent = await agentOf(host)
    return (await agent.nextCommand({ body: { holding: inHand.map(({ id, leaseToken }) => ({ id, leaseToken })) } })).command
  }
  /** Fetches the next command as the agent of a host. */
  const take = async (host: string, inHand: readonly LeasedCommand[] = []): Promise<LeasedCommand> => {
    const command = await offered(host, inHand)
    if (!command) throw new Error(`nothing to do on ${host}`)
    return command
  }
  const post = async (host: string, { id, leaseToken }: LeasedCommand, outcome: unknown) =>
    (await agentOf(host)).postResult({ params: { id }, body: { leaseToken, outcome: outcome as never } })
  /** Fetches the next command and posts its result. */
  const answer = async <Kind extends BoxCommandKind>(host: string, kind: Kind, change: Partial<BoxCommandResult<Kind>> = {}) => {
    const command = await take(host)
    if (command.kind !== kind) throw new Error(`the next command is ${command.kind}, not ${kind}`)
    await post(host, command, { ok: true, result: { ...goodAnswer(command, isoNow(clock)), ...change } })
    return command
  }
  const fail = async (host: string, code = 'DISK_FULL') => {
    const command = await take(host)
    await post(host, command, { ok: false, error: { code, message: 'it did not work' } })
    return command
  }

  const sweep = roundsOf({ ...hosts, owner: 'replica-1' }, commandSweep(hosts as never))
  const helloBody = (reports: VersionsReport[]) => {
    const machine = { agentVersion: '0.1.0', engine: null, resources: null }
    return { ...machine, protocolVersion: 1, reports, holding: [] }
  }
  const hello = async (host: string, reports: VersionsReport[] = []) => (await agentOf(host)).hello({ body: helloBody(reports) })

  return {
    db,
    clock,
    api: async () => makeClient(boxesContract, await clientOf('anna')),
    agent: agentOf,
    offered,
    take,
    post,
    answer,
    fail,
    side,
    sweep,
    hello,
    /** The agent of a host fetches a command, loses its state folder, and is enrolled again, after the command expired. */
    loseStateFolder: async (host: string) => {
      await take(host)
      await sweep() // from now on it listens
      await clock.advance(12 * 3_600_000)
      await sweep()
      const agent = await agentOf(host)
      const enrolled = { enrolled_at: isoNow(clock), instance_id: null }
      await db.updateTable('hosts').set(enrolled).where('name', '=', host).execute()
      await agent.hello({ body: helloBody([]) })
    },
    report: async (host: string, reports: VersionsReport[]) => (await agentOf(host)).postReports({ body: { reports } }),
    aBox: (slug: string) => aLiveBox(room, slug),
    box: async (id: string) => (await boxById(db, id as never)) ?? Promise.reject(new Error(`no box ${id}`)),
    holds: async () => (await db.selectFrom('box_holds').select('holder').execute()).map(({ holder }) => holder.replace(/:.*/, '')),
    /** Advances time until the host is offline. */
    silence: async (...names: string[]) => {
      await clock.advance(91_000)
      for (const name of ['host-1', 'host-2', 'host-3']) if (!names.includes(name)) await heardOf(room, name)
    },
    events: async () =>
      (await eventsAfter(db, { stream: 'admin', after: 0 })).map(({ eventType, payload }) => ({
        eventType,
        ...(payload as { state?: string }),
      })),
    audit: async () => (await db.selectFrom('audit').select(['action', 'actor']).orderBy('seq').execute()).map(({ action }) => action),
  }
}

async function listening(room: BoxesWorld, hosts: HostsDeps): Promise<string> {
  const { url } = await servedApp([...boxesRoutes(room), ...agentRoutes(hosts)], {
    authenticate: {
      admin: async () => ({ ...anOperator, role: 'admin' }),
      agent: async (name) => ({ kind: 'agent', hostId: `hst_${name}` as never, name: name ?? '', instanceId: 'one' }),
    },
    clock: room.clock,
  })
  return url
}

const finalSnapshot = (at: string) => ({
  snapshotId: sha256Hex('final'),
  tier: 'final' as const,
  snapshotSha256: sha256Hex('manifest of final'),
  takenAt: at,
  durationMs: 1,
  addedBytes: 1,
  files: 1,
  installed: aReport('any').installed,
})

/** The result of a successful command. */
export function goodAnswer({ kind, payload }: Pick<LeasedCommand, 'kind' | 'payload'>, at: string): object {
  const { slug, ownershipEpoch, on } = payload as { slug: string; ownershipEpoch: number; on?: boolean }
  const report = aReport(slug, { at, ownershipEpoch })
  const probe = aProbe(at)
  const answers: Partial<Record<string, object>> = {
    'tenant-box.hand_over': { snapshot: finalSnapshot(at), fencedAt: at, durationMs: 1 },
    'tenant-box.take_over': { outcome: 'restored', snapshotId: sha256Hex('final'), durationMs: 1, probes: [probe], report, error: null },
    'tenant-box.take_back': { report, probe },
    'tenant-box.remove': { removed: [`${slug}-postgres`] },
    'tenant-box.maintenance': { report: on ? { ...report, fenced: true, fence: { holder: 'maintenance', since: at } } : report },
    'tenant-box.adopt_again': { report },
    'tenant-box.logs': { lines: [] },
    'tenant-box.services': { services: [], at },
    'tenant-box.report_versions': { report },
    'tenant-box.healthcheck': { report, probe },
    'tenant-box.restart': { report, probe, durationMs: 30_000 },
  }
  return answers[kind] ?? {}
}
