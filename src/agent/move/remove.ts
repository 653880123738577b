import { readdir, rm } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { BoxCommandPayload, BoxCommandResult } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import { readIfThere } from '../../node/index.ts'
import { projectOf, readBoxSecrets, readCompose, readFence, refuseOlderOwner } from '../boxes/index.ts'
import { isAlive } from '../change/index.ts'
import type { CommandExecutor, LocalBox, Project } from '../ports/index.ts'
import type { MoveDeps } from './deps.ts'

const kind = 'tenant-box.remove'
type Payload = BoxCommandPayload<typeof kind>

/**
 * The end of a box on this host: containers, networks, volumes, folder, pins, dumps, and last the record, by which all else is found. Other
 * services of its project and their volumes stay, and are told as `left: `. What is
 * not here is no failure. Throws CONFLICT while the box serves people, LEASE_LOST for an owner before the present one. Snapshots stay.
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
            // What a resumed removal can no longer see is still told.
            await deps.journal.append(context.commandId, { elapsedMs: 0, step: 'remove', mark: 'note', data: { removed: part } })
          }
          return { removed: [...new Set(removed)] }
        },
      },
    )

async function admit({ boxes, engine }: MoveDeps, { slug, boxId, ownershipEpoch }: Payload): Promise<void> {
  const box = await boxes.find(slug)
  if (box?.boxId !== boxId) return
  refuseOlderOwner(box, ownershipEpoch)
  if (box.handedOver || (await readFence(box.project))) return
  const serving = (await engine.containers(box.project)).filter(isAlive).map(({ service }) => service)
  if (serving.length > 0)
    throw problem('CONFLICT', `the box ${slug} serves people (${serving.join(', ')} run, and it is not fenced): hand it over first`)
}

/** Each part is gone when it is told, so a kill between two of them is made good by doing all again. */
async function* parts(deps: MoveDeps, payload: Payload): AsyncGenerator<readonly string[]> {
  const { slug, boxId } = payload
  const box = await deps.boxes.find(slug)
  const project = box?.boxId === boxId ? box.project : await unrecorded(deps, payload)
  if (!project) return
  const told = await deps.engine.removeProject(project.name, await volumesOf(deps, slug, project))
  yield told
  await deps.engine.unpin(slug)
  yield removeWork(deps, payload)
  if (told.some((one) => one.startsWith('left: '))) yield [`left: folder ${project.folder}, for what else is in the project`]
  else yield removeFolder(deps, slug, project)
  if (box?.boxId === boxId) yield forget(deps, box)
}

/** What a provisioning or a removal that broke off left without a record: the folder knows whose it is. */
async function unrecorded({ settings, boxes }: MoveDeps, { slug, boxId }: Payload): Promise<Project | undefined> {
  if (await boxes.find(slug)) return undefined
  const project = projectOf(settings, slug)
  return (await readBoxSecrets(project).catch(() => undefined))?.boxId === boxId ? project : undefined
}

/** Nothing beyond the four services is in any snapshot, so it stays. Only a folder of ours without a file says that there is nothing else. */
async function volumesOf({ settings }: MoveDeps, slug: string, project: Project): Promise<readonly string[] | undefined> {
  const text = await readIfThere(project.composeFile)
  if (text === undefined) return project.folder === projectOf(settings, slug).folder ? undefined : []
  try {
    return readCompose(text, project.name).ownVolumes
  } catch {
    return []
  }
}

/** Dumps of its commands that are over; a drill that runs clears its own away. */
async function removeWork({ journal, workFolder }: MoveDeps, { slug }: Payload): Promise<string[]> {
  const removed: string[] = []
  for (const name of await readdir(workFolder).catch(() => [])) {
    const record = await journal.find(decodeURIComponent(name.replace(/\.restored$/, '')))
    if (record?.slug !== slug) continue
    await rm(join(workFolder, name), { recursive: true, force: true })
    removed.push(`work ${name}`)
  }
  return removed
}

/** An adopted stack lies in a folder of its owner: there only what agents wrote beside the compose file goes. */
async function removeFolder({ settings }: MoveDeps, slug: string, project: Project): Promise<string[]> {
  const present = await readdir(project.folder).catch(() => undefined)
  if (!present) return []
  if (project.folder === projectOf(settings, slug).folder) {
    await rm(project.folder, { recursive: true, force: true })
    return [`folder ${project.folder}`]
  }
  const file = basename(project.composeFile)
  // `compose.yaml.<time>.<command>`: the backups of guarded changes.
  const ours = present.filter((name) => name === '.compose.candidate.yaml' || /^\.\d{4}-\d\d-\d\dT[\d.-]+Z\./.test(name.replace(file, '')))
  for (const name of ours) await rm(join(project.folder, name), { force: true })
  return [
    ...ours.map((name) => `file ${join(project.folder, name)}`),
    `nothing else in ${project.folder}: the box was adopted, its folder stays`,
  ]
}

async function forget({ boxes }: MoveDeps, { slug }: LocalBox): Promise<string[]> {
  await boxes.remove(slug)
  return [`record ${slug}`]
}
