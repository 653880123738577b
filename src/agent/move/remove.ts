import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { BoxCommandPayload, BoxCommandResult } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { readIfThere } from '../../node/index.ts'
import { assertCurrentOwner, projectOf, readBoxSecrets, readCompose, readFence } from '../boxes/index.ts'
import { isAlive } from '../change/index.ts'
import type { CommandExecutor, LocalBox, Project } from '../ports/index.ts'
import { templateVolumes } from '../rebuild/index.ts'
import type { MoveDeps } from './fence-and-stop.ts'

const kind = 'tenant-box.remove'
type Payload = BoxCommandPayload<typeof kind>

/**
 * Removes a box from this host: containers, networks, volumes, folder, pins, dumps, and last its record. Other services of its project and
 * their volumes stay and are listed as `left: `; missing parts are not a failure. Snapshots stay. Throws CONFLICT while the box serves,
 * LEASE_LOST for an older owner.
 */
export const remove =
  (deps: MoveDeps): CommandExecutor<typeof kind> =>
  (context, payload) =>
    deps.once<BoxCommandResult<typeof kind>>(
      { commandId: context.commandId, kind, slug: payload.slug, payload },
      {
        admit: () => admit(deps, payload),
        perform: async (record) => {
          const removed = record.entries.flatMap(({ data }) => (data as { removed: string[] }).removed)
          for await (const part of parts(deps, payload)) {
            if (part.length === 0) continue
            removed.push(...part)
            // A resumed removal reports what an earlier run removed.
            await deps.journal.append(context.commandId, { elapsedMs: 0, step: 'remove', mark: 'note', data: { removed: part } })
          }
          return { removed: [...new Set(removed)] }
        },
      },
    )

async function admit({ boxes, engine }: MoveDeps, { slug, boxId, ownershipEpoch }: Payload): Promise<void> {
  const box = await boxes.find(slug)
  if (box?.boxId !== boxId) return
  assertCurrentOwner(box, ownershipEpoch)
  if (box.handedOver || (await readFence(box.project))) return
  const serving = (await engine.containers(box.project)).filter(isAlive).map(({ service }) => service)
  if (serving.length > 0)
    throw problem('CONFLICT', `the box ${slug} serves its users (${serving.join(', ')} run without a fence). fix: hand it over first`)
}

/** Yields each part once it is removed, so a kill in between is repaired by doing all again. */
async function* parts(deps: MoveDeps, payload: Payload): AsyncGenerator<readonly string[]> {
  const { slug, boxId } = payload
  const box = await deps.boxes.find(slug)
  const project = box?.boxId === boxId ? box.project : await unrecorded(deps, payload)
  if (!project) return
  const removed = await deps.engine.removeProject(project.name, await volumesOf(deps, slug, project))
  yield removed
  await deps.engine.unpin(slug)
  yield removeWork(deps, payload)
  if (removed.some((one) => one.startsWith('left: '))) yield [`left: folder ${project.folder}, which other services of the project use`]
  else yield removeFolder(deps, slug, project)
  if (box?.imported)
    yield [`left: the stopped stack ${box.imported.stack.project} in ${box.imported.observed.project.folder}, which was imported`]
  if (box?.boxId === boxId) yield removeRecord(deps, box)
}

/** The project of a box without a record (interrupted provisioning or removal, lost state folder); its folder says which box it is. */
export async function unrecorded(
  { settings, boxes }: Pick<MoveDeps, 'settings' | 'boxes'>,
  { slug, boxId }: Readonly<{ slug: string; boxId: string }>,
): Promise<Project | undefined> {
  if (await boxes.find(slug)) return undefined
  const project = projectOf(settings, slug)
  return (await readBoxSecrets(project).catch(() => undefined))?.boxId === boxId ? project : undefined
}

/** Other services are in no snapshot, so their volumes stay. Of our own folder the template names them where its file is gone or broken. */
async function volumesOf({ settings }: MoveDeps, slug: string, project: Project): Promise<readonly string[]> {
  const isOurs = project.folder === projectOf(settings, slug).folder
  const ours = isOurs ? ['postgres', ...Object.values(templateVolumes)] : []
  const text = await readIfThere(project.composeFile)
  if (text === undefined) return ours
  try {
    return readCompose(text, project.name).ownVolumes
  } catch {
    return ours
  }
}

/** Removes dumps of commands of the box; a running drill removes its own. */
async function removeWork({ journal, workFolder }: MoveDeps, { slug }: Payload): Promise<string[]> {
  const removed: string[] = []
  for (const name of await readdir(workFolder).catch(() => [])) {
    const record = await journal.find(decodeURIComponent(name.replace(/\.(restored|copied)$/, '')))
    if (record?.slug !== slug) continue
    await rm(join(workFolder, name), { recursive: true, force: true })
    removed.push(`work ${name}`)
  }
  return removed
}

/** An adopted stack is in a folder of its owner: only files that agents wrote beside the compose file are removed. */
async function removeFolder({ settings }: MoveDeps, slug: string, project: Project): Promise<string[]> {
  const present = await readdir(project.folder).catch(() => undefined)
  if (!present) return []
  if (project.folder === projectOf(settings, slug).folder) {
    await rm(project.folder, { recursive: true, force: true })
    return [`folder ${project.folder}`]
  }
  const file = basename(project.composeFile)
  // `compose.yaml.<time>.<command>`: backups that updates and restores made.
  const ours = present.filter((name) => name === '.compose.candidate.yaml' || /^\.\d{4}-\d\d-\d\dT[\d.-]+Z\./.test(name.replace(file, '')))
  for (const name of ours) await rm(join(project.folder, name), { force: true })
  return [
    ...ours.map((name) => `file ${join(project.folder, name)}`),
    `nothing else in ${project.folder}: the box was adopted, its folder stays`,
  ]
}

async function removeRecord({ boxes }: MoveDeps, { slug }: LocalBox): Promise<string[]> {
  await boxes.remove(slug)
  return [`record ${slug}`]
}
