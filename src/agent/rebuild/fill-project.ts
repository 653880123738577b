import { readFile } from 'node:fs/promises'
import { problem } from '../../core/kit/index.ts'
import { type DataFolder, fetchData, fetchDumpAgain, sideBySide } from '../backup/index.ts'
import { readCompose, waitUntil } from '../boxes/index.ts'
import type { LocalBox, Repository } from '../ports/index.ts'
import type { ReviveDeps } from './deps.ts'
import { type FetchedBefore, whileProven } from './fetched-before.ts'

type Filling = Readonly<{ repository: Repository; snapshotId: string; fetched: Omit<FetchedBefore, 'boxFolder'>; signal?: AbortSignal }>

const databasePatienceMs = 10 * 60_000

/**
 * Makes and fills the volumes of a new project, with only PostgreSQL running. All that an earlier try left of the project is thrown away
 * first: a half-filled volume is never loaded into again. Throws RESTORE_FAILED, CONFLICT for a volume of somebody else, DISK_FULL.
 */
export async function fillProject(deps: ReviveDeps, box: LocalBox, filling: Filling): Promise<void> {
  const again = () => fetchDumpAgain(deps, filling, filling.fetched)
  await whileProven(filling.fetched, (signal) => makeAndFill(deps, box, { ...filling, signal }), { ...filling, again })
}

async function makeAndFill(deps: ReviveDeps, box: LocalBox, filling: Filling): Promise<void> {
  const { engine } = deps
  await engine.removeProject(box.project.name)
  const volumes = await makeVolumes(deps, box)
  await fillVolumes(deps, box, {
    ...filling,
    folderOf: ({ key }) => folderOf(deps, box, volumes, key),
    upDatabase: async (within) => {
      await engine.up(box.project, ['postgres'], within)
      await waitForDatabase(deps, box, within)
    },
  })
}

type Volumes = Readonly<{ folderOf(data: DataFolder): Promise<string>; upDatabase(signal: AbortSignal): Promise<void> }>

/** Media and objects are brought while the database is loaded: the one waits for the store, the other for the processor. */
export async function fillVolumes(
  deps: Pick<ReviveDeps, 'servers' | 'snapshots'>,
  box: LocalBox,
  { fetched, signal, folderOf, upDatabase, ...filling }: Filling & Volumes,
): Promise<void> {
  const { dumpFolder, manifest } = fetched
  const volumes = await Promise.all(manifest.paths.data.map(async (data) => ({ data, into: await folderOf(data) })))
  const load = async (within: AbortSignal) => {
    await upDatabase(within)
    await deps.servers.loadDatabase(box, dumpFolder, manifest.rows, within)
  }
  await sideBySide([(within) => fetchData(deps, { ...filling, signal: within }, volumes), load], signal)
}

async function makeVolumes({ engine }: ReviveDeps, { project }: LocalBox): Promise<Readonly<Record<string, string>>> {
  const { volumes } = readCompose(await readFile(project.composeFile, 'utf8'), project.name)
  for (const [key, name] of Object.entries(volumes)) {
    if ((await engine.volumePath(name)) !== undefined)
      throw problem('CONFLICT', `there is a volume ${name} on this host already, which is not of ${project.name}: rename or remove it`)
    await engine.createVolume(project, key, name)
  }
  return volumes
}

async function folderOf(
  { engine }: ReviveDeps,
  { slug }: LocalBox,
  volumes: Readonly<Record<string, string>>,
  key: string | null,
): Promise<string> {
  const folder = key === null ? undefined : await engine.volumePath(volumes[key] ?? '-')
  if (folder === undefined)
    throw problem('RESTORE_FAILED', `the snapshot of ${slug} holds a volume that its compose file does not name: restore it by hand`)
  return folder
}

async function waitForDatabase({ engine, servers, clock }: ReviveDeps, box: LocalBox, signal: AbortSignal): Promise<void> {
  const ready = await waitUntil({ clock, everyMs: 200, timeoutMs: databasePatienceMs, signal }, async () => {
    const database = (await engine.containers(box.project)).find(({ service }) => service === 'postgres')
    if (database?.state !== 'running')
      throw problem(
        'RESTORE_FAILED',
        `the database of ${box.project.name} ended at its start (exit code ${database?.exitCode ?? 'unknown'})`,
      )
    return servers.databaseReady(box)
  })
  if (!ready) throw problem('RESTORE_FAILED', `the database of ${box.project.name} takes no connections`)
}
