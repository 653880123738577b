import { link, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { syncFolder, writeFileAtomic } from '../../node/index.ts'
import type { BoxLocks } from '../journal/index.ts'
import type { CommandExecutor, LocalBox, Project } from '../ports/index.ts'
import { type Fence, fenceFile, readFence } from './fence-file.ts'
import { assertManaged, boxOfCommand, type LocalBoxes } from './local-boxes.ts'
import { type ReportDeps, reportVersions } from './report-versions.ts'

const maintenance = 'maintenance'

/** True also when the record or the fence of the box cannot be read. */
export const mayBeFenced = async (boxes: Pick<LocalBoxes, 'find'>, slug: string): Promise<boolean> => {
  try {
    const box = await boxes.find(slug)
    return box !== undefined && (await readFence(box.project)) !== undefined
  } catch {
    return true
  }
}

/** Creates the fence file; returns false when one exists. A hard link makes the complete file appear atomically, so it always names its owner. */
export async function createFenceFile(project: Project, says: Readonly<Record<string, unknown>>): Promise<boolean> {
  const path = fenceFile(project)
  const prepared = join(dirname(path), '.on.new')
  await writeFileAtomic(prepared, `${JSON.stringify(says)}\n`, { mode: 0o644 })
  try {
    await link(prepared, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return false
    throw error
  } finally {
    await rm(prepared, { force: true })
  }
  await syncFolder(dirname(path))
  return true
}

/** The caller checks the owner of the fence first. */
export async function removeFenceFile(project: Project): Promise<void> {
  const path = fenceFile(project)
  await rm(path, { force: true })
  await syncFolder(dirname(path))
}

/** Fences the box for manual work. Idempotent. Throws BOX_HELD when a command has fenced it. */
export async function beginMaintenance({ clock }: { clock: Clock }, { slug, project }: LocalBox, reason: string): Promise<void> {
  if (await createFenceFile(project, { holder: maintenance, reason, raisedAt: isoNow(clock) })) return
  const fence = await readFence(project)
  if (fence && fence.holder !== maintenance) throw heldBy(slug, fence)
}

/** Lifts a maintenance fence. Idempotent. Throws BOX_HELD for the fence of a command, which only that command lifts. */
export async function endMaintenance({ slug, project }: LocalBox): Promise<void> {
  const fence = await readFence(project)
  if (fence && fence.holder !== maintenance) throw heldBy(slug, fence)
  if (fence) await removeFenceFile(project)
}

const heldBy = (slug: string, { holder, since }: Fence, so = 'maintenance cannot replace or lift that fence') =>
  problem(
    'BOX_HELD',
    `Box ${slug} is fenced by ${holder}${since ? ` since ${since}` : ''}; ${so}. fix: tenantry-agent box fence status ${slug}`,
  )

/** For commands that stop or change the box. Throws BOX_HELD during maintenance. */
export async function assertNotInMaintenance({ slug, project }: LocalBox): Promise<void> {
  const fence = await readFence(project)
  if (fence?.holder !== maintenance) return
  throw problem(
    'BOX_HELD',
    `Box ${slug} is in maintenance${fence.since ? ` since ${fence.since}` : ''}${fence.reason ? ` (${fence.reason})` : ''}. fix: tenantry boxes maintenance off ${slug}`,
  )
}

/** For commands that need an open box. Throws BOX_HELD for any fence. */
export async function assertUnfenced({ slug, project }: LocalBox): Promise<void> {
  const fence = await readFence(project)
  if (fence) throw heldBy(slug, fence, 'it cannot be restarted')
}

type Deps = ReportDeps & Readonly<{ boxes: LocalBoxes; locks: BoxLocks }>

/** Turns maintenance on or off. Idempotent. Throws BOX_HELD while a command works on the box. */
export const maintain =
  (deps: Deps): CommandExecutor<'tenant-box.maintenance'> =>
  async (_, payload) => {
    const lock = await deps.locks.acquire(payload.slug)
    try {
      const box = await boxOfCommand(deps.boxes, payload)
      assertManaged(box)
      if (payload.on) await beginMaintenance(deps, box, payload.reason)
      else await endMaintenance(box)
      return { report: await reportVersions(deps, box) }
    } finally {
      await lock.release()
    }
  }
