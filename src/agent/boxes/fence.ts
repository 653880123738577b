import { link, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { type Clock, isoNow, problem } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import type { BoxLocks } from '../journal/index.ts'
import type { CommandExecutor, LocalBox, Project } from '../ports/index.ts'

import { boxOfCommand, type LocalBoxes } from './local-boxes.ts'

import { type ReportDeps, reportVersions } from './report-versions.ts'

/** What the switch says of itself. `holder` is the id of a command, `maintenance`, or `unknown` for one that somebody else wrote. */
export type StandingFence = Readonly<{ holder: string; since: string | null; reason?: string }>

const maintenance = 'maintenance'

/** Undefined while the edge is open. */
export async function readFence(project: Project): Promise<StandingFence | undefined> {
  const text = await readIfThere(fenceSwitch(project))
  if (text === undefined) return undefined
  const { commandId, holder = commandId, raisedAt, reason } = asRecord(text)
  return {
    holder: typeof holder === 'string' && holder !== '' ? holder.slice(0, 200) : 'unknown',
    since: typeof raisedAt === 'string' ? raisedAt.slice(0, 40) : null,
    ...(typeof reason === 'string' ? { reason: reason.slice(0, 300) } : {}),
  }
}

function asRecord(text: string): Record<string, unknown> {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return {}
  }
}

/**
 * Puts the switch there, unless one is there already: false then. It appears whole, by a link: a half-written one would be nobody's,
 * and no one would dare to remove it.
 */
export async function placeSwitch(project: Project, says: Readonly<Record<string, unknown>>): Promise<boolean> {
  const path = fenceSwitch(project)
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

/** Whoever calls this has made sure whose it is. */
export async function takeSwitchAway(project: Project): Promise<void> {
  const path = fenceSwitch(project)
  await rm(path, { force: true })
  await syncFolder(dirname(path))
}

/** Closes the edge for people's own work on the box. Again is the same; throws BOX_HELD over the fence of a command. */
export async function beginMaintenance({ clock }: { clock: Clock }, { slug, project }: LocalBox, reason: string): Promise<void> {
  if (await placeSwitch(project, { holder: maintenance, reason, raisedAt: isoNow(clock) })) return
  const fence = await readFence(project)
  if (fence && fence.holder !== maintenance) throw heldBy(slug, fence)
}

/** Opens the edge again. An open one stays open; throws BOX_HELD for the fence of a command, which only that command lifts. */
export async function endMaintenance({ slug, project }: LocalBox): Promise<void> {
  const fence = await readFence(project)
  if (fence && fence.holder !== maintenance) throw heldBy(slug, fence)
  if (fence) await takeSwitchAway(project)
}

const heldBy = (slug: string, { holder, since }: StandingFence) =>
  problem(
    'BOX_HELD',
    `the box ${slug} is fenced by ${holder}${since ? ` since ${since}` : ''}, and maintenance neither takes nor lifts the fence of another; \`tenantry-agent box fence status ${slug}\` shows it`,
  )

/** For commands that would stop or change the box. Throws BOX_HELD while people work on it. */
export async function refuseMaintenance({ slug, project }: LocalBox): Promise<void> {
  const fence = await readFence(project)
  if (fence?.holder !== maintenance) return
  throw problem(
    'BOX_HELD',
    `the box ${slug} is in maintenance${fence.since ? ` since ${fence.since}` : ''}${fence.reason ? ` (${fence.reason})` : ''}; end that first: \`tenantry boxes maintenance off ${slug}\``,
  )
}

/** The file whose presence closes the edge, in a folder that the edge has mounted (`config/box-template/edge`). */
export const fenceSwitch = (project: Project): string => join(project.folder, 'edge', 'fence', 'on')

type Deps = ReportDeps & Readonly<{ boxes: LocalBoxes; locks: BoxLocks }>

/** Closes or opens the edge while people work on the box. Both may come twice; a command that works on the box now keeps it: BOX_HELD. */
export const maintain =
  (deps: Deps): CommandExecutor<'tenant-box.maintenance'> =>
  async (_, payload) => {
    const lock = await deps.locks.acquire(payload.slug)
    try {
      const box = await boxOfCommand(deps.boxes, payload)
      if (!box.managed)
        throw problem('BOX_NOT_MANAGED', `the box ${box.slug} is only observed: its edge has no fence; complete its adoption first`)
      if (payload.on) await beginMaintenance(deps, box, payload.reason)
      else await endMaintenance(box)
      return { report: await reportVersions(deps, box) }
    } finally {
      await lock.release()
    }
  }
