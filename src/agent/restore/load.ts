import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { writeFileAtomic } from '../../node/index.ts'
import { fetchDumpAgain } from '../backup/index.ts'
import { readBoxSecrets } from '../boxes/index.ts'
import { readComposeText, resultOf, startDatabaseOn } from '../change/index.ts'
import type { LocalBox, StreamPositions } from '../ports/index.ts'
import { fetchedSnapshot, whileVerified } from '../rebuild/index.ts'
import { databaseVolumes, type RestoreRun, snapshotFiles, withRestored } from './restore-run.ts'

/**
 * Loads the dump into a new volume with only PostgreSQL running, by a separate compose file: the box's own file stays unchanged. Then raises the
 * stream positions beyond those that clients have seen since the snapshot.
 */
export async function load(run: RestoreRun): Promise<{ volume: string }> {
  const { deps, payload, signal } = run
  const { database } = resultOf(run, 'fetch')
  const { streams } = resultOf(run, 'keep')
  const fetched = await fetchedSnapshot(deps, { ...run, folder: run.fetchFolder })
  const tries = databaseVolumes(run, database.volume)
  const volume = tries.at(-1) as string
  const box = await loadingBox(run, volume)
  const loadInto = async (within: AbortSignal) => {
    await startDatabaseOn({ ...run, box, signal: within }, volume, tries)
    await deps.servers.loadDatabase(
      await withLaterSecrets(run, box),
      { folder: fetched.dumpFolder, expected: fetched.manifest.rows },
      within,
    )
  }
  const again = async () => {
    await fetchDumpAgain(deps, { repository: await run.repository(), snapshotId: payload.snapshotId, signal }, fetched)
    // A load never continues a half-filled volume.
    await deps.engine.discard(box.project, ['postgres'])
    await deps.engine.removeVolume(volume)
  }
  await whileVerified(fetched, loadInto, { again, signal })
  const isSuccessor = streams !== 'unknown' && !isBehind(streams, await deps.servers.streamPositions(box, signal))
  await deps.servers.raiseStreams(box, isSuccessor ? streams : 'unknown', signal)
  return { volume }
}

/** Only grows. Synapse sets others back when it starts, such as that of transactions of application services. */
const events = 'events_stream_seq'

/** The present database is an empty one if its events are behind those of the snapshot: clients know positions that it never had. */
const isBehind = (present: StreamPositions, loaded: StreamPositions): boolean =>
  (present.sequences[events] ?? 0) < (loaded.sequences[events] ?? 0)

/** The role of the database gets the password that the box has after the switch, which may be that of the snapshot. */
async function withLaterSecrets(run: RestoreRun, box: LocalBox): Promise<LocalBox> {
  const project = { ...box.project, folder: snapshotFiles(run) }
  return (await readBoxSecrets(project).catch(() => undefined)) ? { ...box, project } : box
}

const loadingFile = ({ project }: LocalBox): string => join(dirname(project.composeFile), '.compose.restoring.yaml')

async function loadingBox(run: RestoreRun, volume: string): Promise<LocalBox> {
  const { box } = run
  const composeFile = loadingFile(box)
  await writeFileAtomic(composeFile, withRestored(run, await readComposeText(box), volume))
  return { ...box, project: { ...box.project, composeFile } }
}

export const dropLoadingFile = (box: LocalBox): Promise<void> => rm(loadingFile(box), { force: true })
