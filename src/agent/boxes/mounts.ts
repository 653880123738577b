import { posix } from 'node:path'
import { recordOf } from './record-of.ts'

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
