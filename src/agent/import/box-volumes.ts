import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { problem } from '../../core/kit/index.ts'
import { readCompose, readComposeFile } from '../boxes/index.ts'
import { startDatabase, templateVolumes } from '../rebuild/index.ts'
import type { ImportRun } from './import-run.ts'

// The volumes of the new box.

export async function makeVolumes({ deps: { engine }, box: { project } }: ImportRun): Promise<void> {
  const { volumes } = readCompose(await readComposeFile(project.composeFile), project.name)
  for (const [key, name] of Object.entries(volumes)) await engine.createVolume(project, key, name)
}

export async function volumeOf(
  { deps, box: { slug, project } }: ImportRun,
  service: 'synapse' | 'minio' | 'postgres',
): Promise<[name: string, path: string]> {
  const key = service === 'postgres' ? 'postgres' : templateVolumes[service]
  const name = readCompose(await readComposeFile(project.composeFile), project.name).volumes[key]
  const path = name === undefined ? undefined : await deps.engine.volumePath(name)
  if (name === undefined || path === undefined) throw problem('RESTORE_FAILED', `${slug} has no volume ${key} on this machine`)
  return [name, path]
}

/** The data folder of the box's server in its volume. Throws RESTORE_FAILED before its first start. */
export async function databaseFolder(run: ImportRun): Promise<string> {
  const [name, root] = await volumeOf(run, 'postgres')
  const entries = await readdir(root, { recursive: true, withFileTypes: true })
  const control = entries.find((entry) => entry.isFile() && entry.name === 'pg_control')
  if (control) return dirname(control.parentPath)
  throw problem('RESTORE_FAILED', `${name} has no data folder of PostgreSQL`)
}

/** A database that was filled in part is never filled further. */
export async function freshDatabase(run: ImportRun, signal: AbortSignal): Promise<void> {
  const { deps, box } = run
  const [name] = await volumeOf(run, 'postgres').catch(() => [undefined])
  // A later step may have started it.
  await deps.engine.stop(box.project, ['synapse'])
  await deps.engine.discard(box.project, ['postgres'])
  if (name !== undefined) await deps.engine.removeVolume(name)
  await makeVolumes(run)
  await startDatabase(deps, box, signal)
}
