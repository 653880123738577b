import { type AgentIdentity, enrolAgent, newAgentKey } from '../../src/agent/channel/index.ts'
import type { BoxMigration, CommandOutputs, CommandSecrets, VersionsReport } from '../../src/core/boxes/index.ts'
import { type AdminActor, type ManualClock, manualClock, problem, secret } from '../../src/core/kit/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import { inviteHost } from '../../src/daemon/hosts/enrolment.ts'
import {
  type AgentTimes,
  agentRoutes,
  authenticateAgent,
  type Command,
  enqueueCommand,
  type HostsDeps,
  hostsRoutes,
  makeCommandBus,
  type NewCommand,
} from '../../src/daemon/hosts/index.ts'
import type { RegistryDeps } from '../../src/daemon/hosts/registries.ts'
import type { Authenticators } from '../../src/daemon/http/index.ts'
import { keyring } from '../../src/daemon/sealed/index.ts'
import { silentLogger, systemRandom } from '../../src/node/index.ts'
import { freePort } from './free-port.ts'
import { standingApp } from './served-app.ts'

export const anna: AdminActor = { kind: 'admin', accountId: 'acc_1', name: 'anna', role: 'operator', sessionId: 'ses_1' }

export const shortTimes: AgentTimes = { longPollMs: 25_000, offlineAfterMs: 90_000, requeueAfterMs: 120_000, reapAfterMs: 600_000 }

/** Replaces the boxes feature: locations of boxes, and everything it received. */
type BoxesTold = {
  hostOf: Map<string, string>
  reports: { hostId: string; reports: readonly VersionsReport[] }[]
  results: { command: Command; result: unknown }[]
  outputs: CommandOutputs[]
  secrets: CommandSecrets
  disowned: { slug: string; boxId: string; ownershipEpoch: number }[]
  migrations: BoxMigration[]
}

export type HostWorld = Readonly<{
  deps: HostsDeps & RegistryDeps
  clock: ManualClock
  told: BoxesTold
  baseUrl: string
  enrol(name: string): Promise<AgentIdentity>
  enqueue(command: Partial<NewCommand> & { id: string; hostId: string }): Promise<Command>
  /** Stops the daemon: connections break and nothing listens. */
  stop(): Promise<void>
  /** Starts it again at the same address. */
  start(): Promise<void>
}>

/** The hosts feature behind a real socket, with a boxes feature that only records its input. */
export async function hostWorld(db: Db, clock: ManualClock = manualClock()): Promise<HostWorld> {
  const told: BoxesTold = { hostOf: new Map(), reports: [], results: [], outputs: [], secrets: {}, disowned: [], migrations: [] }
  let standing: Awaited<ReturnType<typeof standingApp>> | undefined
  const port = await freePort()
  const baseUrl = `http://127.0.0.1:${port}`
  const deps: HostsDeps & RegistryDeps = {
    db,
    clock,
    random: systemRandom,
    log: silentLogger(),
    keyring: keyring([Buffer.alloc(32, 7).toString('base64')]),
    bus: makeCommandBus(),
    baseUrl,
    agents: shortTimes,
    boxes: {
      mayAct: async (_, { boxId }, hostId) => told.hostOf.get(boxId) === hostId,
      disowned: async () => told.disowned,
      reportHandler: async (_, hostId, reports) => void told.reports.push({ hostId, reports }),
      secretsFor: async () => told.secrets,
      get migrations() {
        return told.migrations
      },
      acceptOutputs: async (_, __, outputs) => void told.outputs.push(outputs),
      resultHandlers: {
        'tenant-box.report_versions': async (_, command, result) => void told.results.push({ command, result }),
      },
    },
  }
  const authenticate: Authenticators = {
    admin: async (authorization) => {
      if (authorization === 'Bearer vera') return { ...anna, name: 'vera', role: 'viewer' }
      if (authorization !== 'Bearer anna') throw problem('UNAUTHENTICATED', 'who are you?')
      return anna
    },
    agent: authenticateAgent(deps),
  }
  const start = async () => {
    standing = await standingApp([...hostsRoutes(deps), ...agentRoutes(deps)], { authenticate, clock }, port)
  }
  const stop = async () => {
    const going = standing
    standing = undefined
    await going?.close()
  }
  await start()
  return {
    deps,
    clock,
    told,
    baseUrl,
    start,
    stop,
    enrol: async (name) => {
      const { token } = await inviteHost(deps, anna, { name })
      await clock.advance(1000) // enrolments from one address are limited
      return enrolAgent({ daemonUrl: baseUrl, agentVersion: '0.1.0' }, await newAgentKey(), secret(token))
    },
    enqueue: async (command) => {
      const boxId = command.boxId ?? 'box_1'
      told.hostOf.set(boxId, told.hostOf.get(boxId) ?? command.hostId)
      const full: NewCommand<'tenant-box.report_versions'> = {
        boxId,
        kind: 'tenant-box.report_versions',
        payload: { slug: 'elm-school', boxId, ownershipEpoch: 1 },
        deadlineMs: 3_600_000,
        ...(command as object),
      } as never
      const stored = await db.transaction().execute((tx) => enqueueCommand(tx, clock, full))
      deps.bus.queued(command.hostId)
      return stored
    },
  }
}

export const aReport = (slug = 'elm-school'): VersionsReport => ({
  slug,
  at: '2026-01-05T02:00:00.000Z',
  installed: { migrationsHead: '0000', postgres: '15.7', synapse: '1.157.1', minio: 'RELEASE.2025-09-07T16-13-09Z' },
  services: {
    synapse: { image: 'registry.example/synapse:v1.157.1', digest: null, state: 'running', restartCount: 0 },
  },
  fenced: false,
  ownershipEpoch: 1,
  managed: true,
})
