import { copyFile, mkdir, rm } from 'node:fs/promises'
import { basename, dirname, join, relative } from 'node:path'
import { type BoxCommandPayload, lsnValue, type SnapshotTaken } from '../../core/boxes/index.ts'
import { type Clock, problem } from '../../core/kit/index.ts'
import {
  clearDump,
  type DataFolder,
  type DiskSpace,
  dumpFolderOf,
  fetchRepository,
  reportWaiting,
  reserveDiskSpace,
  spaceForDump,
  takeBoxSnapshot,
} from '../backup/index.ts'
import { assertNoLinks, assertOnlyFiles, fenceFile, type LocalBoxes, pullImages } from '../boxes/index.ts'
import type { CommandJournal, CommandRecord, OnceOnly } from '../journal/index.ts'
import type {
  BoxServers,
  CommandContext,
  CommandExecutor,
  ContainerEngine,
  LocalBox,
  Repository,
  SnapshotStore,
  StoredSnapshot,
} from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'
import { type ArchiveFacts, readFacts } from './facts.ts'
import { recoveryProject, serverText, startRecovery, volumeKey } from './recovery-server.ts'
import { putSegments, takeOwner } from './spool.ts'

const kind = 'tenant-box.recover'
type Payload = BoxCommandPayload<typeof kind>

export type RecoverDeps = Readonly<{
  engine: ContainerEngine
  servers: BoxServers
  snapshots: SnapshotStore
  boxes: Pick<LocalBoxes, 'find'>
  journal: CommandJournal
  once: OnceOnly
  disk: DiskSpace
  clock: Clock
  workFolder: string
  stateFolder: string
  allowedImages: readonly string[]
}>

/**
 * Makes a snapshot of an earlier moment: fetches a base and the log, lets a second PostgreSQL replay them, and stores its dump with the media,
 * objects and files of then. The box is neither read nor changed, and may be gone. An interrupted one begins again.
 */
export const recover =
  (deps: RecoverDeps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    runOnce(
      deps.once,
      // A lock of its own: the box is not used.
      { context, kind, payload, lock: `${payload.slug}.recover` },
      {
        admit: async () => undefined,
        perform: async (record) => ({ snapshot: storedEarlier(record) ?? (await perform(deps, context, payload)) }),
      },
    )

const storedEarlier = ({ entries }: CommandRecord): SnapshotTaken | undefined =>
  entries.find(({ step, mark }) => step === 'store' && mark === 'done')?.data as SnapshotTaken | undefined

type Run = Readonly<{
  deps: RecoverDeps
  context: CommandContext
  payload: Payload
  repository: Repository
  folder: string
  project: string
  begunMs: number
}>

async function perform(deps: RecoverDeps, context: CommandContext, payload: Payload): Promise<SnapshotTaken> {
  const { commandId, signal } = context
  const repository = await fetchRepository(context)
  await deps.snapshots.prepare(repository)
  const folder = `${dumpFolderOf(deps.workFolder, commandId)}.restored`
  const run = {
    deps,
    context,
    payload,
    repository,
    folder,
    project: recoveryProject(deps.stateFolder, commandId),
    begunMs: deps.clock.monotonicMs(),
  }
  await clear(run)
  try {
    const taken = await recoverSnapshot(run)
    await deps.journal.append(commandId, { elapsedMs: deps.clock.monotonicMs() - run.begunMs, step: 'store', mark: 'done', data: taken })
    return taken
  } finally {
    if (!signal.aborted) await clear(run)
  }
}

/** Every step begins with an entry of the journal and a progress report. */
async function begin({ deps, context, begunMs }: Run, step: 'fetch' | 'replay' | 'store'): Promise<void> {
  await deps.journal.append(context.commandId, { elapsedMs: deps.clock.monotonicMs() - begunMs, step, mark: 'intent' })
  context.progress({ step })
}

async function clear({ deps, context, folder, project }: Run): Promise<void> {
  await deps.engine.removeProject(project)
  await deps.engine.unpin(project)
  await rm(folder, { recursive: true, force: true })
  await clearDump(deps, context.commandId)
}

type Parts = Readonly<{ base: StoredSnapshot; logs: readonly StoredSnapshot[]; last: StoredSnapshot }>

async function findParts({ deps, payload, repository }: Run): Promise<Parts> {
  const stored = new Map((await deps.snapshots.list(repository)).map((one) => [one.id, one]))
  const find = (id: string) => {
    const found = stored.get(id)
    if (found?.archive) return found
    throw problem(
      'RESTORE_FAILED',
      `the repository ${repository.repository} has no part ${id.slice(0, 8)} of the archive of ${payload.slug}`,
    )
  }
  const logs = payload.logs.map(find)
  return { base: find(payload.base), logs, last: logs.at(-1) as StoredSnapshot }
}

async function recoverSnapshot(run: Run): Promise<SnapshotTaken> {
  const { deps, context, payload, folder, repository } = run
  const { signal } = context
  await begin(run, 'fetch')
  const parts = await findParts(run)
  await reserve(run, parts)
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const fetch = async (id: string, path: string, into: string) => {
    await mkdir(into, { recursive: true, mode: 0o700 })
    await deps.snapshots.restore(repository, { id, path, into }, signal)
    return into
  }
  const facts = await readFacts(await noLinks(await fetch(parts.last.id, spoolPath(parts.last, 'log'), join(folder, 'log'))))
  const baseFacts = await readFacts(await noLinks(await fetch(parts.base.id, spoolPath(parts.base, 'base'), join(folder, 'base'))))
  const other = [facts, baseFacts].find(({ boxId }) => boxId !== payload.boxId)
  if (other) throw problem('RESTORE_FAILED', `the archive is of the box ${other.slug} (${other.boxId}) and not of ${payload.slug}`)
  const { postgres } = baseFacts
  const image = Object.values(baseFacts.images).find((one) => one.image === postgres.image)
  await pullImages(deps, {
    images: { postgres: { image: postgres.image, digest: image?.digest } },
    pin: run.project,
    step: 'images',
    context,
    signal,
  })
  const dataFolder = await fetchDatabase(run, parts, baseFacts)
  for (const log of parts.logs) {
    const into = await fetch(log.id, join(spoolPath(log, 'log'), 'wal'), join(folder, 'wal'))
    await putSegments(await noLinks(into), dataFolder, postgres.owner)
    await rm(into, { recursive: true, force: true })
  }
  const boxFolder = await fetch(parts.last.id, facts.paths.boxFolder, join(folder, 'box'))
  await removeFence(boxFolder)
  const data = await Promise.all(
    facts.paths.data.map(
      async (one, n): Promise<DataFolder> => ({
        ...one,
        folder: await fetch(parts.last.id, one.folder, join(folder, `data-${n}`, '_data')),
      }),
    ),
  )
  await begin(run, 'replay')
  const server = serverOf(run, facts)
  const text = serverText(postgres, run.project, volumeOf(run))
  const target = { dataFolder, owner: postgres.owner, to: payload.to, logEnd: positions(parts).to }
  await startRecovery(deps, { server, text, target, signal })
  await begin(run, 'store')
  const { taken } = await takeBoxSnapshot(deps, {
    ...{ box: boxOf(facts), database: server, boxFolder, data, repository, tier: 'recovered', commandId: context.commandId },
    ...{ images: facts.images, installed: facts.installed, at: payload.to ?? (parts.last.archive?.at as string), signal },
    // Any host that writes to the store can forge the facts of an archive: only data is taken from it.
    foreign: true,
    onWaiting: reportWaiting(context, 'store'),
  })
  return taken
}

/** A recovered box must not come up fenced. Through a link of a forged archive the fence of another box would be removed. Throws FOLDER_UNSAFE. */
export async function removeFence(boxFolder: string): Promise<void> {
  const fence = fenceFile({ name: '', folder: boxFolder, composeFile: '' })
  await assertNoLinks(boxFolder, relative(boxFolder, fence))
  await rm(fence, { force: true })
}

/** The folder itself, once nothing in it leads elsewhere. PostgreSQL has links for tablespaces alone, which no copy includes. */
async function noLinks(folder: string): Promise<string> {
  await assertOnlyFiles(folder)
  return folder
}

/** A spool is named after its box; the folder below it after what it is. */
function spoolPath({ id, paths }: StoredSnapshot, name: 'log' | 'base'): string {
  const path = paths.find((one) => basename(one) === name && basename(dirname(dirname(one))) === 'archive')
  if (path === undefined) throw problem('RESTORE_FAILED', `the snapshot ${id.slice(0, 8)} is no part of an archive`)
  return path
}

const volumeOf = ({ project }: Run): string => `${project}-${volumeKey}`

async function fetchDatabase(run: Run, { base }: Parts, { paths, postgres }: ArchiveFacts): Promise<string> {
  const { deps, repository, folder, context, project } = run
  const files = base.archive?.data
  if (files === undefined) throw problem('RESTORE_FAILED', `the base ${base.id.slice(0, 8)} of the archive names no files`)
  await deps.engine.createVolume({ name: project, folder, composeFile: join(folder, 'recovery.yaml') }, volumeKey, volumeOf(run))
  const root = await deps.engine.volumePath(volumeOf(run))
  if (root === undefined) throw problem('RESTORE_FAILED', `the volume ${volumeOf(run)} is on another machine than this agent`)
  const dataFolder = join(root, postgres.inside)
  await mkdir(dataFolder, { recursive: true })
  await deps.snapshots.restore(repository, { id: files, path: paths.database, into: dataFolder }, context.signal)
  await noLinks(dataFolder)
  for (const [name, target] of [
    ['pg_control', join('global', 'pg_control')],
    ['backup_label', 'backup_label'],
  ] as const) {
    await copyFile(join(folder, 'base', name), join(dataFolder, target))
    await takeOwner(join(dataFolder, target), { ...postgres.owner, mode: 0o600 })
  }
  // A snapshot holds the content of a folder, not its own owner and mode.
  await takeOwner(dataFolder, postgres.owner)
  return dataFolder
}

/** The range of the log from the base on. */
const positions = ({ base, last }: Parts) => ({
  from: lsnValue(base.archive?.from ?? '0/0'),
  to: lsnValue(last.archive?.to ?? '0/0'),
})

/** Parts overlap by a segment, and a base begins within one. */
const overlapBytes = 64 * 1024 * 1024

/** The base and all log on the disk of the volumes; dump, media and objects in the work folder. */
async function reserve({ deps, context, payload, repository }: Run, parts: Parts): Promise<void> {
  const { base, last } = parts
  const { from, to } = positions(parts)
  const files = (await deps.snapshots.find(repository, base.archive?.data ?? ''))?.totalBytes ?? 0
  const log = Number(to - from) + overlapBytes
  const volumes = (await deps.engine.volumesFolder()) ?? deps.workFolder
  await reserveDiskSpace(deps.disk, { commandId: context.commandId, what: `recovering ${payload.slug}` }, [
    { path: volumes, bytes: files + log },
    { path: deps.workFolder, bytes: last.totalBytes ?? 0 },
    ...spaceForDump(deps.workFolder, repository, files),
  ])
}

/** The box as it was archived; only its record in the snapshot is made of it. */
const boxOf = ({ slug, boxId, migrationsHead, box: { project, composeFile, envFile, ...box }, paths }: ArchiveFacts): LocalBox => ({
  ...{ slug, boxId, migrationsHead, ...box },
  project: { name: project, folder: paths.boxFolder, composeFile, ...(envFile === undefined ? {} : { envFile }) },
})

const serverOf = ({ folder, project }: Run, facts: ArchiveFacts): LocalBox => ({
  ...boxOf(facts),
  ports: null,
  project: { name: project, folder, composeFile: join(folder, 'recovery.yaml') },
})
