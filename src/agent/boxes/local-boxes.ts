import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Slug } from '../../core/boxes/index.ts'
import { asJson, isProblem, problem } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import type { LocalBox, Project } from '../ports/index.ts'

import type { BoxSettings } from './provision.ts'

const Record = z.object({
  slug: Slug,
  boxId: z.string(),
  ownershipEpoch: z.number().int().min(1),
  managed: z.boolean(),
  chatDomain: z.string(),
  project: z.object({ name: z.string(), folder: z.string(), composeFile: z.string(), envFile: z.string().exactOptional() }),
  ports: z.object({ public: z.number(), platform: z.number(), probe: z.number() }).nullable(),
  migrationsHead: z.string(),
  handedOver: z.object({ at: z.string(), holder: z.string() }).exactOptional(),
})

/** The boxes of this host, one file each in the agent's folder: they are known while the daemon is away. */
export type LocalBoxes = Readonly<{
  /** Those that can be read: a damaged record must not hide the other boxes. */
  list(): Promise<readonly LocalBox[]>
  /** Names whose record cannot be read. */
  unreadable(): Promise<readonly string[]>
  find(slug: string): Promise<LocalBox | undefined>
  put(box: LocalBox): Promise<void>
  /** Forgets the record; containers, files and volumes are not its business. */
  remove(slug: string): Promise<void>
}>

export function localBoxes(stateFolder: string): LocalBoxes {
  const folder = join(stateFolder, 'boxes')
  const fileOf = (slug: string) => join(folder, `${checkedSlug(slug)}.json`)
  const find = async (slug: string) => {
    const text = await readIfThere(fileOf(slug))
    return text === undefined ? undefined : parseRecord(fileOf(slug), text)
  }
  const slugs = async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const names = (await readdir(folder)).filter((name) => /^[a-z].*\.json$/.test(name)).map((name) => name.slice(0, -'.json'.length))
    return names.filter((slug) => Slug.safeParse(slug).success).sort()
  }
  return {
    find,
    list: async () => {
      const found = await Promise.all((await slugs()).map((slug) => find(slug).catch(unlessUnreadable)))
      return found.filter((box) => box !== undefined)
    },
    unreadable: async () => {
      const all = await slugs()
      const broken = await Promise.all(all.map((slug) => find(slug).then(() => false, isUnreadable)))
      return all.filter((_, index) => broken[index])
    },
    put: (box) => writeFileAtomic(fileOf(box.slug), `${JSON.stringify(Record.parse(box), null, 2)}\n`),
    remove: async (slug) => {
      await rm(fileOf(slug), { force: true })
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await syncFolder(folder)
    },
  }
}

/** A slug becomes a path: it is checked here again, whoever asks. Throws VALIDATION. */
export function checkedSlug(slug: string): string {
  if (!Slug.safeParse(slug).success) throw problem('VALIDATION', `${JSON.stringify(slug.slice(0, 60))} is no box name`)
  return slug
}

const isUnreadable = (error: unknown): boolean => isProblem(error, 'CONFIG_INVALID')

function unlessUnreadable(error: unknown): undefined {
  if (!isUnreadable(error)) throw error
}

function parseRecord(path: string, text: string): LocalBox {
  const result = Record.safeParse(asJson(text))
  if (result.success) return result.data
  throw problem('CONFIG_INVALID', `the box record ${path} cannot be read; move it away and adopt the box again`, { cause: result.error })
}

type Named = Readonly<{ slug: string; boxId: string; ownershipEpoch: number }>

/**
 * The box that a command names. Throws NOT_FOUND when this host has no such box, LEASE_LOST when the command comes from an owner before
 * the present one, and CONFLICT when the box was handed over, unless the command is one for such boxes. A higher epoch is taken over for good.
 */
export async function boxOfCommand(
  boxes: LocalBoxes,
  { slug, boxId, ownershipEpoch }: Named,
  { handedOver = 'refused' }: Readonly<{ handedOver?: 'refused' | 'welcome' }> = {},
): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box || box.boxId !== boxId) throw problem('NOT_FOUND', `this host has no box ${slug} with the id ${boxId}`)
  refuseOlderOwner(box, ownershipEpoch)
  if (box.handedOver && handedOver === 'refused')
    throw problem(
      'CONFLICT',
      `the box ${slug} was handed over by this host (${box.handedOver.at}): take it back or remove it here, or look for it on its new host`,
    )
  if (ownershipEpoch === box.ownershipEpoch) return box
  const raised = { ...box, ownershipEpoch }
  await boxes.put(raised)
  return raised
}

/** The box of a command that was admitted before, maybe in another life of the agent. Throws NOT_FOUND when it is gone since. */
export async function boxOfBegun(boxes: Pick<LocalBoxes, 'find'>, { slug }: Pick<Named, 'slug'>): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box) throw problem('NOT_FOUND', `this host has no box ${slug} any more`)
  return box
}

/**
 * What this host knows of a box that is to be made, adopted or brought here. A stack that was only observed under another id is one that the
 * registry has forgotten since, without a word to this host: it makes way. Throws LEASE_LOST, and ALREADY_EXISTS for another box of the name.
 */
export async function knownOf(boxes: Pick<LocalBoxes, 'find'>, { slug, boxId, ownershipEpoch }: Named): Promise<LocalBox | undefined> {
  const known = await boxes.find(slug)
  const isForgotten = known?.boxId !== boxId && !known?.managed && known?.ports === null
  if (!known || isForgotten) return undefined
  refuseOlderOwner(known, ownershipEpoch)
  if (known.boxId !== boxId) throw problem('ALREADY_EXISTS', `this host has another box named ${slug} (${known.boxId})`)
  return known
}

/** Throws BOX_NOT_MANAGED for a box that is only observed; `doing` is what would be done to it: updating, moving, restoring. */
export function needManaged({ slug, managed }: LocalBox, doing: string): void {
  if (!managed) throw problem('BOX_NOT_MANAGED', `the box ${slug} is only observed; complete its adoption before ${doing} it`)
}

export function refuseOlderOwner(box: LocalBox, ownershipEpoch: number): void {
  if (ownershipEpoch < box.ownershipEpoch)
    throw problem('LEASE_LOST', `the box ${box.slug} has a newer owner (epoch ${box.ownershipEpoch}, the command says ${ownershipEpoch})`)
}

/**
 * Two boxes over one stack would be updated and restored beside each other: whoever takes a box takes its slug, not its containers. One that is
 * only observed changes nothing. Throws ALREADY_EXISTS.
 */
export async function refuseStackOfOther(
  boxes: Pick<LocalBoxes, 'list'>,
  { slug, project }: Pick<LocalBox, 'slug' | 'project'>,
): Promise<void> {
  const { name, folder } = project
  const other = (await boxes.list()).find(
    (box) => box.managed && box.slug !== slug && (box.project.name === name || box.project.folder === folder),
  )
  if (!other) return
  throw problem(
    'ALREADY_EXISTS',
    `the project ${name} in ${folder} is the box ${other.slug} already: name that one, or another project and folder`,
  )
}

/** Where a box that this host makes lies, and what its compose project is called. */
export function projectOf(
  { boxesFolder, projectPrefix = 'box-' }: Pick<BoxSettings, 'boxesFolder' | 'projectPrefix'>,
  slug: string,
): Project {
  const folder = join(boxesFolder, checkedSlug(slug))
  return { name: `${projectPrefix}${slug}`, folder, composeFile: join(folder, 'compose.yaml') }
}
