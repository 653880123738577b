import { join } from 'node:path'
import { api } from '../core/api.ts'
import type { Checkpoint } from '../core/audit/index.ts'
import type { BoxMigration, SynapseSchemas } from '../core/boxes/index.ts'
import { openApiDocument } from '../core/contract/index.ts'
import { quotasOf } from '../core/files/index.ts'
import { type Clock, newId, type Random } from '../core/kit/index.ts'
import type { RoleBook } from '../core/users/index.ts'
import { type Logger, packageVersion } from '../node/index.ts'
import { resticCare, tendRepository } from '../node/restic/index.ts'
import { type AdminNeeds, adminRoutes, authenticateAdmin, cleanExpiredCredentials } from './admin/index.ts'
import {
  alertMetrics,
  alertsRoutes,
  alertWork,
  channelsOf,
  forgetAlerts,
  makeSender,
  tellBrokenAudit,
  tellWholeAudit,
} from './alerts/index.ts'
import { auditRoutes, checkpointAudit, checkpointHandler, checkpointTopic } from './audit/index.ts'
import { authRoutes, openSigningKeys, rotateSigningKeys, watchRevocations } from './auth/index.ts'
import { bootstrapRoutes, noModules } from './bootstrap/index.ts'
import {
  boxesJobs,
  boxesRoutes,
  boxSide,
  commandsOfLife,
  commandsOfSetUp,
  forgetLogs,
  lifeJobs,
  snapshotsOfLife,
  watchFences,
} from './boxes/index.ts'
import type { Config } from './config/index.ts'
import { cronsRoutes, passwordCleanup, runScheduler, trackRuns } from './crons/index.ts'
import { type Db, type DbOrTx, handBack, runOutbox, type Tx } from './db/index.ts'
import { type EdgeSide, openEdge } from './edge/index.ts'
import { eventsRoutes, forgetEvents, openEvents, runEvents } from './events/index.ts'
import { filesJobs, filesRoutes, forgetFolders } from './files/index.ts'
import { homeserverRoutes, makeAsk, makeHomeservers, plainNetworks } from './homeserver/index.ts'
import {
  agentRoutes,
  authenticateAgent,
  type Command,
  deleteEndedInvites,
  hostsJobs,
  hostsRoutes,
  listenedTo,
  makeCommandBus,
  registrySecrets,
  runBusPoll,
  runCommandSweep,
  secretsByKind,
  tellFailures,
} from './hosts/index.ts'
import { type Authenticators, type HttpMetrics, makeMetrics, type Served } from './http/index.ts'
import { type Limits, limitsRoutes, openLimits, watchBudgets } from './limits/index.ts'
import { makeMailer } from './mail/index.ts'
import { openObjectStore } from './objects/index.ts'
import { outboxMetrics, outboxRoutes, watchOutbox } from './outbox/index.ts'
import { profileRoutes } from './profile/index.ts'
import {
  commandsOfRollouts,
  forgetRollouts,
  makeRolloutBus,
  type Rehearse,
  rolloutsRoutes,
  snapshotsOfRollouts,
  startRolloutEngine,
  tellHead,
} from './rollouts/index.ts'
import type { Keyring } from './sealed/index.ts'
import { fleetMetrics, serviceRoutes } from './service/index.ts'
import { authenticateUser, forgetLoginFailures, forgetSessions, sessionsRoutes, waitingLogins } from './sessions/index.ts'
import {
  commandSecrets,
  commandsOfRestores,
  requireSnapshots,
  runSnapshotTurns,
  runStoreUpkeep,
  type SnapshotsNeeds,
  snapshotForMove,
  snapshotListener,
  snapshotMetrics,
  snapshotRule,
  snapshotsJobs,
  snapshotsOfBox,
  snapshotsRoutes,
} from './snapshots/index.ts'
import { forgetSpaces, membersOf, spacesJobs, spacesListener, spacesOf, spacesRoutes, spacesWork } from './spaces/index.ts'
import { forgetTasks, tasksRoutes } from './tasks/index.ts'
import { tenantsRoutes } from './tenants/index.ts'
import { restoreWork, usersListener, usersRoutes, usersWork } from './users/index.ts'

export type WireNeeds = Readonly<{
  config: Config
  db: Db
  keyring: Keyring
  clock: Clock
  random: Random
  log: Logger
  /** What the package carries for boxes. */
  migrations: readonly BoxMigration[]
  schemas: SynapseSchemas
  /** What users of tenants may do, by their roles. */
  roles: RoleBook
  rehearse?: Rehearse | undefined
  draining: AbortSignal
}>

/** All rooms joined: what is served, who may call, and the work that goes on until the daemon drains. */
export type Wired = Readonly<{
  served: readonly Served[]
  authenticate: Required<Authenticators>
  metrics: HttpMetrics
  limits: Limits
  outermost: EdgeSide['outermost']
  /** Starts the loops; each promise resolves once its loop has handed its work back. */
  begin(): readonly Promise<void>[]
}>

const fencesEveryMs = 30_000
const logsEveryMs = 30_000
const failuresEveryMs = 60_000
const budgetsEveryMs = 10_000
const lateEveryMs = 60_000
const hourMs = 60 * 60_000

/** The only file that knows every room. */
export async function wire(needs: WireNeeds): Promise<Wired> {
  const { config, db, clock, random, keyring, log, migrations, draining } = needs
  const holder = newId(random, 'replica')
  const bus = makeCommandBus()
  const admin = await adminNeeds(needs)
  const times = { staleAfterMs: config.boxes.staleAfterMs, offlineAfterMs: config.agents.offlineAfterMs }
  const snapshotsListen = snapshotListener(needs)
  const givenUp = (tx: Tx, command: Command) => tellFailures(tx, snapshotsListen, [command.id])
  const boxes = { db, clock, random, bus, ...times, firstPort: config.boxes.firstPort, migrations, ...lifeNeeds(config), givenUp }
  const secretsFor = secretsByKind({ snapshots: commandSecrets(config), registries: registrySecrets(needs) })
  const side = listenedTo(
    boxSide({ ...needs, ...lifeRules(config), secretsFor }),
    snapshotsListen,
    usersListener(needs),
    spacesListener(needs),
  )
  const hosts = { db, clock, random, keyring, log, bus, baseUrl: config.baseUrl, agents: config.agents, boxes: side, holder }
  const rollouts = {
    ...boxes,
    log,
    holder,
    rolloutBus: makeRolloutBus(),
    settings: config.rollouts,
    schemas: needs.schemas,
    daemonVersion: packageVersion(),
    approvalTokenSha256: config.approvalTokenSha256,
    rehearse: needs.rehearse,
  }
  const care = resticCare({ cacheFolder: join(config.dataDir, 'restic-cache') })
  const snapshots = {
    ...boxes,
    log,
    holder,
    settings: config,
    rule: snapshotRule(config),
    deadlineMs: config.snapshots.deadlineMs,
    references: [snapshotsOfRollouts, snapshotsOfLife],
    tend: (...[repository, tending, signal]: Parameters<SnapshotsNeeds['tend']>) => tendRepository(care, repository, tending, signal),
  }
  const networks = plainNetworks(config.homeservers.privateNetworks)
  const homeservers = makeHomeservers({ ...needs, networks, ask: makeAsk().ask })
  const spaces = { ...needs, homeservers }
  const files = { ...needs, objects: await openObjectStore(config, log), quotas: quotasOf(config.files) }
  const crons = {
    db,
    clock,
    random,
    log,
    holder,
    jobs: [
      ...boxesJobs(boxes),
      ...lifeJobs(boxes),
      ...snapshotsJobs(snapshots),
      ...spacesJobs(spaces),
      ...filesJobs(files),
      ...hostsJobs({
        db,
        clock,
        commandsInUse,
        others: [
          () => forgetAlerts(needs),
          (signal) => forgetRollouts(needs, signal),
          (signal) => forgetSessions(needs, signal),
          (signal) => forgetEvents(needs, signal),
          (signal) => forgetTasks(needs, signal),
          () => forgetFolders(needs),
          () => forgetSpaces(needs),
        ],
      }),
      passwordCleanup({ db, clock, cleanExpiredCredentials, deleteEndedInvites }),
    ],
    draining,
    runs: trackRuns((err) => log.error({ err }, 'the end of a job run was not stored')),
  }
  const checkpoints = {
    ...{ db, clock, log, dataDir: config.dataDir },
    signed: (head: Checkpoint) => tellHead(needs, head),
    broken: (facts: Pick<Checkpoint, 'chain' | 'count' | 'at'>) => tellBrokenAudit(needs, facts),
    whole: (chain: string) => tellWholeAudit(needs, chain),
  }
  const users = { ...needs, homeservers }
  const { revocations } = admin
  const sessions = {
    ...users,
    keys: await openSigningKeys(needs, 'platform'),
    revocations,
    rules: config.sessions,
    waiting: waitingLogins(),
  }
  const metrics = makeMetrics()
  fleetMetrics({ db, clock, registry: metrics.registry, offlineAfterMs: config.agents.offlineAfterMs })
  snapshotMetrics({ db, clock, registry: metrics.registry })
  alertMetrics({ db, registry: metrics.registry })
  outboxMetrics({ db, clock, registry: metrics.registry })
  const limits = await openLimits({ ...needs, registry: metrics.registry })
  const budgets = { db, clock, holder, store: limits.store, budgets: config.limits }
  const platform = authenticateUser(sessions)
  const { outermost } = openEdge({ ...needs, revocations })
  const events = openEvents({ ...needs, replica: holder, registry: metrics.registry, revocations, authenticate: platform, membersOf })
  const alerts = alertsNeeds(needs)
  const version = packageVersion()
  const document = openApiDocument(api, { title: 'Tenantry', version })
  const outbox = {
    db,
    clock,
    log,
    handlers: {
      [checkpointTopic]: checkpointHandler(checkpoints),
      ...alertWork(alerts),
      ...usersWork(users),
      ...restoreWork(users),
      ...spacesWork(spaces),
    },
  }

  const begin = () => [
    runBusPoll(hosts, draining),
    runCommandSweep(hosts, draining),
    runScheduler(crons, crons.jobs, draining),
    startRolloutEngine(rollouts, draining),
    runSnapshotTurns(snapshots, draining),
    runStoreUpkeep(snapshots, draining),
    runEvents(events, draining),
    runOutbox(outbox, draining),
    repeat(needs, { ms: fencesEveryMs, what: 'watch over fences', work: () => watchFences({ ...boxes, log }) }),
    repeat(needs, { ms: logsEveryMs, what: 'forgetting logs of boxes', work: () => forgetLogs(needs, db) }),
    repeat(needs, { ms: failuresEveryMs, what: 'forgetting failed logins', work: () => forgetLoginFailures(needs) }),
    repeat(needs, { ms: lateEveryMs, what: 'watch over follow-up work', work: () => watchOutbox({ db, clock, holder }) }).finally(() =>
      handBack(needs, { name: 'outbox.watch', holder }),
    ),
    repeat(needs, { ms: budgetsEveryMs, what: 'watch over budgets', work: () => watchBudgets(budgets) }).finally(() =>
      handBack(needs, { name: 'limits.watch', holder }),
    ),
    repeat(needs, { ms: hourMs, what: 'rotation of signing keys', work: () => rotateKeys(needs) }),
    repeat(needs, { ms: hourMs, what: 'audit checkpoint', work: () => checkpointAudit(checkpoints) }),
  ]
  const served = [
    // The router tries one after the other, and this is what every app asks for first, and again and again.
    ...bootstrapRoutes({ ...needs, spacesOf, modulesOf: noModules }),
    ...serviceRoutes({ db, clock, registry: metrics.registry, version, draining, openApi: () => document }),
    ...authRoutes(needs),
    ...adminRoutes(admin),
    ...auditRoutes(checkpoints),
    ...alertsRoutes(alerts),
    ...outboxRoutes(needs),
    ...hostsRoutes(hosts),
    ...agentRoutes(hosts),
    ...tenantsRoutes(boxes),
    ...usersRoutes(users),
    ...homeserverRoutes({ db, clock, networks }),
    ...sessionsRoutes(sessions),
    ...boxesRoutes(boxes),
    ...snapshotsRoutes(snapshots),
    ...rolloutsRoutes(rollouts),
    ...cronsRoutes(crons),
    ...eventsRoutes(events),
    ...profileRoutes(needs),
    ...tasksRoutes({ ...needs, spacesOf }),
    ...spacesRoutes(spaces),
    ...filesRoutes(files),
    ...limitsRoutes(budgets),
  ]
  const authenticate = { admin: authenticateAdmin(admin), agent: authenticateAgent(hosts), platform }
  return { served, authenticate, metrics, limits, outermost, begin }
}

/** Whom alerts go to, and what carries them there. */
const alertsNeeds = ({ config, db, clock, random }: WireNeeds) => {
  const { alerts, baseUrl } = config
  const send = makeSender({ clock, mailer: makeMailer(clock, config), daemonUrl: baseUrl, settings: alerts })
  return { db, clock, random, channels: channelsOf(alerts), repeatAfterMs: alerts.repeatAfterMs, send }
}

/** How long things may last that happen to boxes beside updates. */
const lifeRules = ({ probe, boxes, snapshots, fence }: Config) => ({
  probe,
  keepRemovedMs: boxes.keepRemovedDays * 24 * hourMs,
  workMs: snapshots.deadlineMs,
  fenceMaxMs: fence.maxMinutes * 60_000,
})

const lifeNeeds = (config: Config) => ({
  ...lifeRules(config),
  requireSnapshots: () => requireSnapshots(config),
  newestSnapshot: snapshotForMove,
  snapshotsOfBox,
  windows: { timeZone: config.timeZone, windows: config.windows },
})

/** What rooms still read of old commands. */
const commandsInUse = async (db: DbOrTx) => [
  ...(await commandsOfRollouts(db)),
  ...(await commandsOfSetUp(db)),
  ...(await commandsOfRestores(db)),
  ...(await commandsOfLife(db)),
]

async function adminNeeds(needs: WireNeeds): Promise<AdminNeeds> {
  const { config, db, clock, random, keyring, draining } = needs
  const revocations = await watchRevocations(needs, draining)
  return { db, clock, random, keyring, keys: await openSigningKeys(needs, 'admin'), revocations, totpRequired: config.totpRequired }
}

async function rotateKeys(needs: WireNeeds): Promise<void> {
  await rotateSigningKeys(needs, 'admin')
  await rotateSigningKeys(needs, 'platform')
}

type Repeated = Readonly<{ ms: number; what: string; work: () => Promise<unknown> }>

async function repeat({ clock, log, draining }: WireNeeds, { ms, what, work }: Repeated): Promise<void> {
  while (!draining.aborted) {
    await work().catch((err) => log.warn({ err }, `${what} failed and will be tried again`))
    await clock.sleep(ms, draining)
  }
}
