import { join } from 'node:path'
import { type Logger, settlingFetch } from '../../node/index.ts'
import { maintainRepository, type OnWaiting, resticMaintenance } from '../../node/restic/index.ts'
import { boxPort, snapshotsOfLifecycle } from '../boxes/index.ts'
import type { Config } from '../config/index.ts'
import type { Tx } from '../db/index.ts'
import { readerRestartListener } from '../flows/index.ts'
import { type Command, composeHandlers, makeCommandBus, notifyFailures, registrySecrets, secretsByKind } from '../hosts/index.ts'
import {
  askRegistries,
  fixesOfEmergencies,
  lateResults,
  makeRolloutBus,
  prometheusAt,
  snapshotsOfRollouts,
  versionsBeforeUpdate,
} from '../rollouts/index.ts'
import {
  assertSnapshotsConfigured,
  commandSecrets,
  exchangeArchives,
  hasRecoveryKey,
  isStored,
  retentionRule,
  type SnapshotsDeps,
  snapshotForMove,
  snapshotListener,
  snapshotsOfBox,
  storeListener,
} from '../snapshots/index.ts'
import { spaceResyncListener } from '../spaces/index.ts'
import { userResyncListener } from '../users/index.ts'
import { chatRetryListener } from '../work/index.ts'
import type { BaseDeps } from './base-deps.ts'

/** Vulnerabilities fixed by emergencies, and versions in snapshots. */
const vulnerabilities = { fixes: fixesOfEmergencies, versionsBefore: versionsBeforeUpdate }

/** Dependencies of boxes, hosts, rollouts and snapshots. */
export function fleetDeps(deps: BaseDeps & Readonly<{ owner: string }>) {
  const { owner, config, db, clock, random, keyring, log, migrations } = deps
  const bus = makeCommandBus()
  const times = { staleAfterMs: config.boxes.staleAfterMs, offlineAfterMs: config.agents.offlineAfterMs }
  const snapshotsListen = snapshotListener({ clock, random, deadlineMs: config.snapshots.deadlineMs, ...vulnerabilities })
  const onCommandAbandoned = (tx: Tx, command: Command) => notifyFailures(tx, snapshotsListen, [command.id])
  const boxes = { db, clock, random, bus, ...times, firstPort: config.boxes.firstPort, migrations, ...lifeDeps(config), onCommandAbandoned }
  const secretsFor = secretsByKind({
    snapshots: commandSecrets({ settings: config, clock, fetch: settlingFetch }),
    registries: registrySecrets(deps),
  })
  const side = composeHandlers(
    boxPort({ ...deps, ...lifeRules(config), secretsFor }),
    snapshotsListen,
    storeListener({ clock, settings: config }),
    lateResults(deps),
    userResyncListener(deps),
    spaceResyncListener(deps),
    readerRestartListener(deps),
    chatRetryListener(deps),
  )
  const archive = { tiers: config.snapshots.archive, days: config.snapshots.archiveDays }
  const archives = (hostId: string, body: Parameters<typeof exchangeArchives>[2]) =>
    exchangeArchives({ db, clock, settings: config, archive, fetch: settlingFetch }, hostId, body)
  const hosts = {
    tracing: deps.tracing,
    archives,
    db,
    clock,
    random,
    keyring,
    log,
    bus,
    baseUrl: config.baseUrl,
    agents: config.agents,
    boxes: side,
    owner,
  }
  const rollouts = {
    ...boxes,
    tracing: deps.tracing,
    log,
    owner,
    rolloutBus: makeRolloutBus(),
    settings: config.rollouts,
    schemas: deps.schemas,
    approvalTokenSha256: config.approvalTokenSha256,
    hasRecoveryKey: hasRecoveryKey(config),
    askRegistries: askRegistries({ ...boxes, log }),
    prometheus: prometheusAt(config.prometheus),
    rehearse: deps.rehearse,
  }
  const care = resticMaintenance({ cacheFolder: join(config.dataDir, 'restic-cache') })
  const snapshots = {
    ...boxes,
    log,
    owner,
    settings: config,
    rule: retentionRule(config),
    archive,
    deadlineMs: config.snapshots.deadlineMs,
    references: [snapshotsOfRollouts, snapshotsOfLifecycle],
    ...vulnerabilities,
    maintain: (...[repository, maintenance, signal]: Parameters<SnapshotsDeps['maintain']>) =>
      maintainRepository({ care, repository: { ...repository, onWaiting: logWaiting(log) } }, maintenance, signal),
  }
  return { boxes, hosts, rollouts, snapshots }
}

const logWaiting =
  (log: Logger): OnWaiting =>
  (reason) =>
    log.info(
      reason === undefined ? 'maintenance of a snapshot repository continues' : `maintenance of a snapshot repository waits for ${reason}`,
    )

/** How long things may last that happen to boxes beside updates. */
const lifeRules = ({ probe, boxes, snapshots, fence, postgres }: Config) => ({
  probe,
  keepRemovedMs: boxes.keepRemovedDays * 24 * 3_600_000,
  workMs: snapshots.deadlineMs,
  fenceMaxMs: fence.maxMinutes * 60_000,
  fences: fence.mode,
  snapshots: fence.snapshot,
  copyBytesPerSecond: fence.copyMegabytesPerSecond * 1_000_000,
  upgrades: { keepFormerDays: postgres.keepFormerDays, rehearsalMaxAgeMs: postgres.rehearsalDays * 24 * 3_600_000 },
})

const lifeDeps = (config: Config) => ({
  ...lifeRules(config),
  assertSnapshotsConfigured: () => assertSnapshotsConfigured(config),
  newestSnapshot: snapshotForMove(vulnerabilities),
  isStored,
  snapshotsOfBox,
  windows: { timeZone: config.timeZone, windows: config.windows },
})
