import type { BoxCommandPayload } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { BoxLocks, CommandJournal } from '../journal/index.ts'
import type { CommandExecutor, LocalBox, Project } from '../ports/index.ts'
import { projectIn } from './adopt.ts'
import { readBoxSecrets } from './box-secrets.ts'
import type { BoxSettings } from './box-settings.ts'
import { readFence } from './fence-file.ts'
import { assertCurrentOwner, assertStackUnclaimed, type LocalBoxes, projectOf } from './local-boxes.ts'
import { type ReportDeps, reportVersions } from './report-versions.ts'
import { assertSafeFolder } from './safe-folder.ts'

const kind = 'tenant-box.adopt_again'
type Payload = BoxCommandPayload<typeof kind>

type Deps = ReportDeps &
  Readonly<{
    boxes: LocalBoxes
    locks: BoxLocks
    journal: Pick<CommandJournal, 'find'>
    settings: Pick<BoxSettings, 'boxesFolder' | 'projectPrefix'>
    agentUid?: number
  }>

/**
 * Writes the record of a box again, after the agent lost its state folder. A box with a record keeps it, with the lost fence. Changes nothing in the box: a fence
 * stays, and counts as one that no command will lift. Throws ALREADY_EXISTS, CONFLICT (files of another box), FOLDER_UNSAFE, LEASE_LOST.
 */
export const adoptAgain =
  (deps: Deps): CommandExecutor<typeof kind> =>
  async (_, payload) => {
    const lock = await deps.locks.acquire(payload.slug)
    try {
      const box = (await recorded(deps, payload)) ?? (await registered(deps, payload))
      return { report: await reportVersions(deps, box) }
    } finally {
      await lock.release()
    }
  }

async function recorded(deps: Deps, { slug, boxId, ownershipEpoch }: Payload): Promise<LocalBox | undefined> {
  const box = await deps.boxes.find(slug)
  if (!box) return undefined
  if (box.boxId !== boxId) throw problem('ALREADY_EXISTS', `This host has another box named ${slug} (id ${box.boxId})`)
  assertCurrentOwner(box, ownershipEpoch)
  // The journal of the command that raised the fence may be lost alone.
  const found = { ...box, ...(await lostFence(deps, box.project)) }
  if (found.orphanFence !== box.orphanFence) await deps.boxes.put(found)
  return found
}

async function registered(deps: Deps, payload: Payload): Promise<LocalBox> {
  const { slug, boxId, ownershipEpoch, managed, chatDomain, ports } = payload
  const project = await placeOf(deps, payload)
  await assertSafeFolder(project, deps.agentUid)
  if (managed) await assertSameBox(payload, project)
  const orphanFence = await lostFence(deps, project)
  const box = { slug, boxId, ownershipEpoch, managed, chatDomain, project, ports, migrationsHead: '0000', ...orphanFence }
  await assertStackUnclaimed(deps.boxes, box)
  await deps.boxes.put(box)
  return box
}

const placeOf = async ({ engine, settings }: Deps, { slug, folder, project }: Payload): Promise<Project> =>
  folder === null || project === null ? projectOf(settings, slug) : projectIn(engine, { folder, project })

/** The secrets of a managed box name it: files of another box, or of an earlier one, must not be updated as this one. */
async function assertSameBox({ slug, boxId }: Payload, project: Project): Promise<void> {
  const secrets = await readBoxSecrets(project)
  if (secrets?.boxId === boxId) return
  const found = secrets ? `belongs to the box with id ${secrets.boxId}` : 'has no secrets/box.json'
  throw problem('CONFLICT', `${project.folder} ${found}, so it is not ${slug}. fix: check the folder, or move ${slug} to another host`)
}

async function lostFence({ journal }: Deps, project: Project): Promise<Pick<LocalBox, 'orphanFence'>> {
  const holder = (await readFence(project))?.holder
  if (holder === undefined || holder === 'maintenance' || (await journal.find(holder))) return {}
  return { orphanFence: holder }
}
