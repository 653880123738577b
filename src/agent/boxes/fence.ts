import { link, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import type { BoxLocks } from '../journal/index.ts'
import type { CommandExecutor, LocalBox, Project } from '../ports/index.ts'

import { boxOfCommand, type LocalBoxes } from './local-boxes.ts'

import { type ReportDeps, reportVersions } from './report-versions.ts'

/** Content of the fence file. `holder` is a command id, `maintenance`, or `unknown` for a foreign file. */
export type Fence = Readonly<{ holder: string; since: string | null; reason?: string }>

const maintenance = 'maintenance'

/** Undefined when the box is not fenced. */
export async function readFence(project: Project): Promise<Fence | undefined> {
  const text = await readIfThere(fenceFile(project))
  if (text === undefined) return undefined
  const { commandId, holder = commandId, raisedAt, reason } = asRecord(text)
  return {
    holder: typeof holder === 'string' && holder !== '' ? holder.slice(0, 200) : 'unknown',
    since: typeof raisedAt === 'string' ? raisedAt.slice(0, 40) : null,
    ...(typeof reason === 'string' ? { reason: reason.slice(0, 300) } : {}),
  }
}

/** True also when the record or the fence of the box cannot be read. */
export const mayBeFenced = async (boxes: Pick<LocalBoxes, 'find'>, slug: string): Promise<boolean> => {
  try {
    const box = await boxes.find(slug)
    return box !== undefined && (await readFence(box.project)) !== undefined
  } catch {
    return true
  }
}

function asRecord(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
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

/** While this file exists, the edge answers 503 (`config/box-template/edge`). */
export const fenceFile = (project: Project): string => join(project.folder, 'edge', 'fence', 'on')

type Deps = ReportDeps & Readonly<{ boxes: LocalBoxes; locks: BoxLocks }>

/** Turns maintenance on or off. Idempotent. Throws BOX_HELD while a command works on the box. */
export const maintain =
  (deps: Deps): CommandExecutor<'tenant-box.maintenance'> =>
  async (_, payload) => {
    const lock = await deps.locks.acquire(payload.slug)
    try {
      const box = await boxOfCommand(deps.boxes, payload)
      if (!box.managed)
        throw problem('BOX_NOT_MANAGED', `Box ${box.slug} is only observed, so its edge has no fence. fix: complete its adoption first`)
      if (payload.on) await beginMaintenance(deps, box, payload.reason)
      else await endMaintenance(box)
      return { report: await reportVersions(deps, box) }
    } finally {
      await lock.release()
    }
  }
