import { join, posix, resolve } from 'node:path'
import { recordOf } from '../boxes/index.ts'
import type { ContainerEngine, Project } from '../ports/index.ts'

/** `source` is a volume's key in the file, or a path; empty for a volume without a name. */
export type Mount = Readonly<{ kind: 'volume' | 'bind' | 'other'; source: string; target: string }>

/** What a service mounts, from both ways to write it. */
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

/** The mount that a path of the container lies in: the innermost. */
export const mountOf = (mounts: readonly Mount[], path: string): Mount | undefined =>
  mounts
    .filter(({ target }) => path === target || path.startsWith(target === '/' ? '/' : `${target}/`))
    .sort((a, b) => b.target.length - a.target.length)[0]

type Where = Readonly<{ engine: ContainerEngine; project: Project; volumes: Readonly<Record<string, string>>; mounts: readonly Mount[] }>

/** Where a path of the container lies on the host; undefined when it is in no mount that can be reached. */
export async function hostPathOf({ engine, project, volumes, mounts }: Where, path: string): Promise<string | undefined> {
  const mount = mountOf(mounts, path)
  if (!mount || mount.kind === 'other' || mount.source === '' || /[$~]/.test(mount.source)) return undefined
  const base = mount.kind === 'bind' ? resolve(project.folder, mount.source) : await engine.volumePath(volumes[mount.source] ?? '')
  return base === undefined ? undefined : join(base, posix.relative(mount.target, path))
}
