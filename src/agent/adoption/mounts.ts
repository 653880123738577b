import { join, posix, resolve } from 'node:path'
import { type Mount, mountOf } from '../boxes/index.ts'
import type { ContainerEngine, Project } from '../ports/index.ts'

type Where = Readonly<{ engine: ContainerEngine; project: Project; volumes: Readonly<Record<string, string>>; mounts: readonly Mount[] }>

/** Where a path of the container lies on the host; undefined when it is in no mount that can be reached. */
export async function hostPathOf({ engine, project, volumes, mounts }: Where, path: string): Promise<string | undefined> {
  const mount = mountOf(mounts, path)
  if (!mount || mount.kind === 'other' || mount.source === '' || /[$~]/.test(mount.source)) return undefined
  const base = mount.kind === 'bind' ? resolve(project.folder, mount.source) : await engine.volumePath(volumes[mount.source] ?? '')
  return base === undefined ? undefined : join(base, posix.relative(mount.target, path))
}
