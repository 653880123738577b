import { type Mount, mountOf, mountsOf } from './mounts.ts'
import { recordOf } from './record-of.ts'

/** `key` is its name in the file, `volume` the real one. */
export type DatabaseVolume = Readonly<{ key: string; volume: string }>

const usualFolder = '/var/lib/postgresql/data'

/**
 * By where it is mounted and not by its place in the list: whoever mounts a volume for backups as well may write that one first. Where
 * nothing is mounted at the folder that the file names, the image has another, and an only volume is the one.
 */
export function databaseVolumeOf(postgres: Record<string, unknown>, volumes: Readonly<Record<string, string>>): DatabaseVolume | undefined {
  const mounts = mountsOf(postgres)
  const mount = mountOf(mounts, dataFolder(postgres.environment)) ?? onlyVolume(mounts)
  const volume = mount?.kind === 'volume' ? volumes[mount.source] : undefined
  return mount === undefined || volume === undefined ? undefined : { key: mount.source, volume }
}

function onlyVolume(mounts: readonly Mount[]): Mount | undefined {
  const named = mounts.filter(({ kind, source }) => kind === 'volume' && source !== '')
  return named.length === 1 ? named[0] : undefined
}

function dataFolder(environment: unknown): string {
  const listed = Array.isArray(environment) ? environment.map(String).find((entry) => entry.startsWith('PGDATA=')) : undefined
  const said = listed?.slice('PGDATA='.length) ?? recordOf(environment).PGDATA
  return typeof said === 'string' && said !== '' ? said : usualFolder
}
