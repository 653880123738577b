import type { BoxCommandResult, SnapshotTaken, VersionsReport } from '../../core/boxes/index.ts'
import { boxOfCommand, type LocalBoxes, reportVersions } from '../boxes/index.ts'
import type { CommandJournal, CommandRecord, OnceOnly } from '../journal/index.ts'
import type { CommandContext, CommandExecutor, Repository } from '../ports/index.ts'
import { runOnce } from '../saga/index.ts'
import { type DiskSpace, reserveDiskSpace, spaceForDump } from './disk-space.ts'
import type { DumpManifest } from './dump-manifest.ts'
import { fetchRepository, prepareRepository } from './maintain-snapshots.ts'
import { reportWaiting } from './report-waiting.ts'
import { type BoxSnapshotDeps, clearDump, takeBoxSnapshot } from './take-box-snapshot.ts'

const kind = 'tenant-box.snapshot'
type Payload = Parameters<CommandExecutor<typeof kind>>[1]
type Result = BoxCommandResult<typeof kind>

export type SnapshotDeps = BoxSnapshotDeps & Readonly<{ boxes: LocalBoxes; journal: CommandJournal; once: OnceOnly; disk: DiskSpace }>

/**
 * Takes a snapshot of a box that keeps serving. Dump and row counts are of one moment; media and objects are copied after it and contain
 * at least what the dump refers to. A failure leaves nothing behind on this host.
 */
export const snapshot =
  (deps: SnapshotDeps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    runOnce(
      deps.once,
      { context, kind, payload },
      {
        admit: () => boxOfCommand(deps.boxes, payload),
        perform: (record) => perform(deps, { context, payload, record }),
      },
    )

type Order = Readonly<{ context: CommandContext; payload: Payload; record: CommandRecord }>

async function perform(deps: SnapshotDeps, order: Order): Promise<Result> {
  const { context, record } = order
  try {
    const snapshot = storedEarlier(record) ?? (await takeSnapshot(deps, order))
    await clearDump(deps, context.commandId)
    return { snapshot }
  } catch (error) {
    // A command that continues needs its dump; a failed one must not fill the disk.
    if (!context.signal.aborted) await clearDump(deps, context.commandId).catch(() => undefined)
    throw error
  }
}

const storedEarlier = ({ entries }: CommandRecord): SnapshotTaken | undefined =>
  entries.find(({ step, mark }) => step === 'store' && mark === 'done')?.data as SnapshotTaken | undefined

async function takeSnapshot(deps: SnapshotDeps, { context, payload, record }: Order): Promise<SnapshotTaken> {
  const { commandId, signal } = context
  const box = await boxOfCommand(deps.boxes, payload)
  const repository = await fetchRepository(context)
  const write = recorderOf(deps, context)
  await write('prepare', 'intent')
  await prepareRepository(deps, context, repository)
  const databaseBytes = (await deps.servers.databaseBytes(box)) ?? 0
  await reserveDiskSpace(
    deps.disk,
    { commandId, what: `a snapshot of ${box.slug}` },
    spaceForDump(deps.workFolder, repository, databaseBytes),
  )
  await write('prepare', 'done')
  const report = await reportVersions(deps, box)
  const { taken } = await takeBoxSnapshot(
    { ...deps, onStep: write },
    {
      ...{ box, repository, tier: payload.tier, commandId, images: imagesOf(report), installed: report.installed, live: true, signal },
      onWaiting: reportWaiting(context, 'store'),
    },
  )
  await write('store', 'done', taken)
  // Listing opens the repository again, so it runs only after an earlier try that may have left a snapshot.
  if (record.entries.some(({ step }) => step === 'store')) await forgetOlder(deps, repository, { commandId, taken: taken.snapshotId })
  return taken
}

/** Every step begins with an entry of the journal and a progress report. */
function recorderOf({ journal, clock }: SnapshotDeps, { commandId, progress }: CommandContext) {
  const begun = clock.monotonicMs()
  return async (step: string, mark: 'intent' | 'done', data?: unknown): Promise<void> => {
    const entry = { elapsedMs: clock.monotonicMs() - begun, step, mark, ...(data === undefined ? {} : { data }) }
    await journal.append(commandId, entry)
    if (mark === 'intent') progress({ step })
  }
}

const imagesOf = ({ services }: VersionsReport): DumpManifest['images'] =>
  Object.fromEntries(
    Object.entries(services).flatMap(([service, facts]) => (facts ? [[service, { image: facts.image, digest: facts.digest }]] : [])),
  )

type Stored = Readonly<{ commandId: string; taken: string }>

/**
 * A try that was killed before its journal entry left a snapshot that may be incomplete. Where the store lets no agent delete, the daemon
 * forgets it later.
 */
async function forgetOlder({ snapshots }: SnapshotDeps, repository: Repository, { commandId, taken }: Stored): Promise<void> {
  const ours = (await snapshots.list(repository).catch(() => [])).filter((one) => one.commandId === commandId && !one.warm)
  const older = ours.map(({ id }) => id).filter((id) => id !== taken)
  if (older.length > 0) await snapshots.forget(repository, older).catch(() => undefined)
}
