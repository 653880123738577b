import { posix } from 'node:path'

/** `source` is a volume key of the file or a path; empty for an anonymous volume. */
export type Mount = Readonly<{ kind: 'volume' | 'bind' | 'other'; source: string; target: string }>

/** Mounts of a service, from the short and the long form. */
export function mountsOf(service: Record<string, unknown>): Mount[] {
  const { volumes } = service
  return Array.isArray(volumes) ? volumes.flatMap((mount) => (typeof mount === 'string' ? short(mount) : long(recordOf(mount)))) : []
}

function short(mount: string): Mount {
  const [source = '', target] = mount.split(':')
  if (target === undefined) return { kind: 'volume', source: '', target: plain(source) }
  return { kind: /^[./~]/.test(source) ? 'bind' : 'volume', source, target: plain(target) }
}

function long({ type, source, target }: Record<string, unknown>): Mount[] {
  if (typeof target !== 'string') return []
  const kind = type === 'bind' || type === 'volume' ? type : 'other'
  return [{ kind, source: typeof source === 'string' ? source : '', target: plain(target) }]
}

const plain = (path: string): string => posix.normalize(path).replace(/(?<=.)\/$/, '')

/** The innermost mount that contains a path of the container. */
export const mountOf = (mounts: readonly Mount[], path: string): Mount | undefined =>
  mounts
    .filter(({ target }) => path === target || path.startsWith(target === '/' ? '/' : `${target}/`))
    .sort((a, b) => b.target.length - a.target.length)[0]

export const recordOf = (value: unknown): Record<string, unknown> =>
  value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Record<string, unknown>) : {}

/** `key` is the name in the file, `volume` the real name. */
export type DatabaseVolume = Readonly<{ key: string; volume: string }>

const defaultFolder = '/var/lib/postgresql/data'

/**
 * Finds the data volume by its mount point, because the list may start with a backup volume. Without a mount at the data folder, a single
 * named volume counts.
 */
export function databaseVolumeOf(postgres: Record<string, unknown>, volumes: Readonly<Record<string, string>>): DatabaseVolume | undefined {
  const mounts = mountsOf(postgres)
  const mount = mountOf(mounts, environmentValue(postgres, 'PGDATA') ?? defaultFolder) ?? onlyVolume(mounts)
  const volume = mount?.kind === 'volume' ? volumes[mount.source] : undefined
  return mount === undefined || volume === undefined ? undefined : { key: mount.source, volume }
}

function onlyVolume(mounts: readonly Mount[]): Mount | undefined {
  const named = mounts.filter(({ kind, source }) => kind === 'volume' && source !== '')
  return named.length === 1 ? named[0] : undefined
}

/** A variable of a service, from the list or the map; undefined where it is empty. */
export function environmentValue({ environment }: Record<string, unknown>, name: string): string | undefined {
  const listed = Array.isArray(environment) ? environment.map(String).find((entry) => entry.startsWith(`${name}=`)) : undefined
  const said = listed?.slice(name.length + 1) ?? recordOf(environment)[name]
  return typeof said === 'string' && said !== '' ? said : undefined
}
