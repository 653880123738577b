import { join, resolve } from 'node:path'
import { boxCommands, type VersionsReport } from '../../core/boxes/index.ts'
import { type ExitCode, isProblem, problem } from '../../core/kit/index.ts'
import { installLastResort, type Logger, makeLogger, type Tracing } from '../../node/index.ts'
import { buildVersion } from '../../node/package.ts'
import { runArchives, sweepRecoveries } from '../archive/index.ts'
import { hostDisk } from '../backup/index.ts'
import {
  type BoxWatcher,
  boxWatcher,
  endSoftLogouts,
  knownMirrors,
  mayBeFenced,
  portInUse,
  readFence,
  reportVersions,
} from '../boxes/index.ts'
import { type CommandStore, commandStore, type ReportsOf, runAgent } from '../channel/index.ts'
import { sweepDrills } from '../drill/index.ts'
import {
  type BoxLock,
  type CommandJournal,
  endSurvivors,
  fileDiskReserve,
  fileLocks,
  folderStore,
  openJournal,
  withDiskReserve,
} from '../journal/index.ts'
import { disownBox } from '../move/index.ts'
import type { EngineEvent } from '../ports/index.ts'
import {
  formerDatabaseSweeper,
  imageRemovals,
  imageSweeper,
  pinSweeper,
  sweepCopies,
  sweepDumpServers,
  sweepWork,
} from '../update/index.ts'
import { sweepRehearsals } from '../upgrade/index.ts'
import { isRotationAsked, keyStore, readSigningIdentity } from './enrolment-file.ts'
import { boxExecutors } from './executors.ts'
import { describeMachine, hostResources, type LocalHost, localHost } from './local-host.ts'
import { type AgentSettings, type Globals, type Machine, settingsOf } from './settings.ts'

/** Runs the agent of this host until SIGTERM, or an error that nothing handled. */
export async function run(machine: Machine, options: Globals): Promise<ExitCode> {
  const settings = settingsOf(machine, options)
  const host = localHost(machine, settings)
  const alone = await lockAgent(host.owner)
  const log = loggerOf(machine, settings)
  const lastResort = installLastResort(log)
  try {
    await serve({ ...machine, signal: AbortSignal.any([machine.signal, lastResort.signal]) }, { settings, host, log })
  } finally {
    await alone.release()
    lastResort.remove()
  }
  return lastResort.signal.aborted ? 1 : 0
}

type Served = Readonly<{ settings: AgentSettings; host: LocalHost; log: Logger }>

async function serve(machine: Machine, { settings, host, log }: Served) {
  const identity = await readSigningIdentity(settings.stateDir)
  const { clock, random, signal } = machine
  const onDamaged = (path: string) => log.error({ path }, 'a file cannot be read and was set aside: check the box it belongs to')
  const diskReserve = fileDiskReserve(join(host.owner, 'disk-reserve'))
  await diskReserve.refill()
  const storeIn = (name: string) => withDiskReserve(folderStore(join(host.owner, name)), diskReserve)
  const journal = await openJournal({ store: storeIn('journal'), clock, isFenced: (slug) => mayBeFenced(host.boxes, slug), onDamaged })
  const store = commandStore(storeIn('commands'), onDamaged)
  const here = realHost(settings, host)
  const sweepPins = pinSweeper({ engine: host.engine, journal, clock })
  const { images: allowedImages, keepImagesDays: keepDays } = settings
  const removals = imageRemovals()
  const watcher = boxWatcher({ ...host, clock, isFenced: async ({ project }) => (await readFence(project)) !== undefined })
  const sweepImages = imageSweeper({ ...host, journal, clock, removals, mirrors: knownMirrors(host.owner), allowedImages, keepDays })
  const removeOldImages = async () => {
    const removed = await sweepImages().catch(() => [])
    if (removed.length > 0) log.info({ images: removed }, 'removed unused images')
  }
  const sweepFormer = formerDatabaseSweeper({ ...host, journal, clock })
  const removeFormerDatabases = async () => {
    const volumes = await sweepFormer().catch(() => [])
    if (volumes.length > 0) log.info({ volumes }, 'removed the former databases of upgrades')
  }
  const version = buildVersion()
  log.info({ version, host: identity.name, daemon: identity.daemonUrl, stateDir: host.owner }, 'agent starting')
  const tracing = await tracingOf(settings, identity.name, { clock, log })
  await runAgent({
    clock,
    random,
    log,
    tracing,
    identity,
    agentVersion: version,
    executors: boxExecutors({
      ...host,
      ...here,
      engine: removals.waitForRemovals(host.engine),
      ...{ journal, clock, random },
      releaseDiskReserve: diskReserve.release,
    }),
    store,
    resume: () => resume({ machine, host, journal, store, log }),
    disown: (box) => disownBox({ ...host, ...here, clock, journal, workFolder: join(host.owner, 'work') }, box),
    acknowledge: async (commandId) => {
      await journal.acknowledge(commandId)
      await diskReserve.refill()
      // Best effort: retried after the next command.
      const unpinned = await sweepPins().catch(() => [])
      if (unpinned.length > 0) log.info({ boxes: unpinned }, 'unpinned images of updates that were not started')
      void removeOldImages() // in the background
      void removeFormerDatabases()
      const hardened = await endSoftLogouts({ ...host, ...here, clock }).catch(() => [])
      if (hardened.length > 0) log.info({ boxes: hardened }, 'logins of before a restore are over: the edge passes logouts on as they are')
    },
    reports: async (of) => (await reportBoxes({ host, machine, log }, of)).map((report) => withWatch(watcher, report)),
    machine: () => describeMachine(host, settings),
    resources: async () => {
      const resources = await hostResources(host, settings)
      return resources && { ...resources, ...watcher.times() }
    },
    keys: {
      ...keyStore(settings.stateDir),
      asked: () => isRotationAsked(settings.stateDir),
      ...(settings.rotateKeyDays > 0 ? { rotateAfterMs: settings.rotateKeyDays * 86_400_000 } : {}),
    },
    changes: (aborted) => seenBy(watcher, host.engine.events(aborted)),
    watch: watcher.run,
    archive: (exchange, aborted) =>
      runArchives({ ...host, disk: hostDisk, clock, random, log, folder: join(host.owner, 'archive') }, exchange, aborted),
    slots: settings.parallel,
    drainMs: settings.drainMs,
    signal,
  })
  await tracing?.close()
  log.info('agent stopped')
}

/** Loaded only where it is on. */
async function tracingOf(
  { tracingEndpoint: endpoint }: AgentSettings,
  host: string,
  { clock, log }: Readonly<{ clock: Machine['clock']; log: Logger }>,
): Promise<Tracing | undefined> {
  if (endpoint === undefined) return undefined
  const { openTracing } = await import('../../node/otlp.ts')
  const onChange = (message: string) => log.warn(message)
  return openTracing({ endpoint, service: 'tenantry-agent', version: buildVersion(), host, clock, onChange })
}

function realHost(
  { boxesDir, projectPrefix, templateDir, images, mirrors, publicBind, platformBind, maxUploadMegabytes }: AgentSettings,
  { owner }: LocalHost,
) {
  const settings = {
    boxesFolder: resolve(boxesDir),
    projectPrefix,
    templateFolder: resolve(templateDir),
    allowedImages: images,
    allowedMirrors: mirrors,
    binds: { public: publicBind, platform: platformBind },
    maxUploadMegabytes,
  }
  return { settings, stateFolder: owner, locks: fileLocks(join(owner, 'locks')), disk: hostDisk, portInUse }
}

/** Allows one agent per state folder; two would conflict, and the daemon would freeze the host. Throws CONFLICT. */
export const lockAgent = (owner: string): Promise<BoxLock> =>
  fileLocks(join(owner, 'run'))
    .acquire('agent')
    .catch((error) => {
      throw isProblem(error, 'BOX_HELD')
        ? problem('CONFLICT', `Another tenantry-agent is running with ${owner}. fix: stop it first`)
        : error
    })

function loggerOf({ stdout }: Machine, { log, logLevel }: AgentSettings): Logger {
  return makeLogger({ form: log ?? (stdout.isTTY ? 'pretty' : 'json'), level: logLevel, program: 'tenantry-agent' })
}

type ResumeDeps = Readonly<{ machine: Machine; host: LocalHost; journal: CommandJournal; store: CommandStore; log: Logger }>

/** Ends what a killed agent left running, and takes up every command that is begun in the journal, even if its stored file was lost. */
async function resume({ machine, host, journal, store, log }: ResumeDeps): Promise<void> {
  const survivors = await endSurvivors({ clock: machine.clock, owner: host.owner })
  const workFolder = join(host.owner, 'work')
  const swept = await sweepWork({ journal, workFolder })
  if (swept.length > 0) log.info({ swept }, 'removed dumps of finished updates')
  // Best effort: retried at the next start. Open commands clean up themselves.
  const sweep = async (what: string, act: () => Promise<readonly string[]>) => {
    const projects = await act().catch((err): readonly string[] => {
      log.warn({ err }, `cannot check for leftovers of ${what}`)
      return []
    })
    if (projects.length > 0) log.info({ projects }, `removed leftovers of ${what}`)
  }
  await sweep('drills', () => sweepDrills({ ...host, journal, stateFolder: host.owner }))
  await sweep('recoveries', () => sweepRecoveries({ ...host, journal, stateFolder: host.owner }))
  await sweep('rehearsed upgrades', () => sweepRehearsals({ ...host, journal, stateFolder: host.owner }))
  await sweep('updates', () => sweepDumpServers({ ...host, journal, workFolder }))
  await sweep('copies of databases', () => sweepCopies({ ...host, journal }))
  await sweep('former databases', formerDatabaseSweeper({ ...host, journal, clock: machine.clock }))
  if (survivors > 0) log.warn({ survivors }, 'ended processes left running by an earlier agent')
  const stored = new Set((await store.all()).map(({ id }) => id))
  for (const { commandId: id, kind, payload } of await journal.open()) {
    if (stored.has(id) || !Object.hasOwn(boxCommands, kind)) continue
    // The lease token is a guess. If it is wrong, the daemon rejects the outcome, but the command still finishes.
    await store.put({ id, kind, boxId: (payload as { boxId: string }).boxId, payload, leaseToken: 1, outcome: null })
  }
}

async function* seenBy(watcher: BoxWatcher, events: AsyncIterable<EngineEvent>): AsyncIterable<EngineEvent> {
  for await (const event of events) {
    watcher.containerChanged(event.project)
    yield event
  }
}

function withWatch(watcher: BoxWatcher, report: VersionsReport): VersionsReport {
  const watch = watcher.found(report.slug)
  return watch && !report.fenced ? { ...report, watch } : report
}

/** Skips boxes that cannot be read. */
async function reportBoxes(
  { host, machine, log }: { host: LocalHost; machine: Machine; log: Logger },
  of?: ReportsOf,
): Promise<VersionsReport[]> {
  for (const slug of await host.boxes.unreadable()) log.error({ slug }, 'box record is damaged: move it away and adopt the box again')
  const boxes = (await host.boxes.list()).filter((box) => !of || ('boxId' in of ? box.boxId === of.boxId : box.project.name === of.project))
  const reports = await Promise.allSettled(boxes.map((box) => reportVersions({ ...host, clock: machine.clock }, box)))
  for (const [at, one] of reports.entries())
    if (one.status === 'rejected') log.warn({ slug: boxes[at]?.slug, err: one.reason }, 'cannot read a box')
  return reports.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
}
