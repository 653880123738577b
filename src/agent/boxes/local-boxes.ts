import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { observedText, Slug } from '../../core/boxes/index.ts'
import { asJson, isProblem, problem } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import type { LocalBox, Project } from '../ports/index.ts'

import type { BoxSettings } from './box-settings.ts'
import { withExtraFile } from './extra-file.ts'
import { BoxPortsRecord, ImportedRecord, ProjectRecord } from './imported-record.ts'

const Record = z.object({
  slug: Slug,
  boxId: z.string(),
  ownershipEpoch: z.number().int().min(1),
  managed: z.boolean(),
  chatDomain: z.string(),
  project: ProjectRecord,
  ports: BoxPortsRecord.nullable(),
  migrationsHead: z.string(),
  handedOver: z.object({ at: z.string(), holder: z.string() }).exactOptional(),
  orphanFence: z.string().exactOptional(),
  imported: ImportedRecord.exactOptional(),
  formerDatabases: z.array(z.object({ volume: z.string(), version: z.string(), until: z.string() })).exactOptional(),
})

/** Records of the boxes on this host, one file each in the agent's folder; readable while the daemon is unreachable. */
export type LocalBoxes = Readonly<{
  /** Skips damaged records. */
  list(): Promise<readonly LocalBox[]>
  /** Slugs with a damaged record. */
  unreadable(): Promise<readonly string[]>
  find(slug: string): Promise<LocalBox | undefined>
  put(box: LocalBox): Promise<void>
  /** Deletes only the record; containers, files and volumes stay. */
  remove(slug: string): Promise<void>
}>

export function localBoxes(stateFolder: string): LocalBoxes {
  const folder = join(stateFolder, 'boxes')
  const fileOf = (slug: string) => join(folder, `${checkedSlug(slug)}.json`)
  const find = async (slug: string) => {
    const text = await readIfThere(fileOf(slug))
    if (text === undefined) return undefined
    const box = parseRecord(fileOf(slug), text)
    return { ...box, project: await withExtraFile(box.project) }
  }
  const slugs = async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const names = (await readdir(folder)).filter((name) => /^[a-z].*\.json$/.test(name)).map((name) => name.slice(0, -'.json'.length))
    return names.filter((slug) => Slug.safeParse(slug).success).sort()
  }
  return {
    find,
    list: async () => {
      const found = await Promise.all((await slugs()).map((slug) => find(slug).catch(ignoreUnreadable)))
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

/** A slug becomes part of a path, so it is validated here again. Throws VALIDATION. */
export function checkedSlug(slug: string): string {
  if (!Slug.safeParse(slug).success) throw problem('VALIDATION', `${JSON.stringify(slug.slice(0, 60))} is not a valid box slug`)
  return slug
}

const isUnreadable = (error: unknown): boolean => isProblem(error, 'CONFIG_INVALID')

function ignoreUnreadable(error: unknown): undefined {
  if (!isUnreadable(error)) throw error
}

function parseRecord(path: string, text: string): LocalBox {
  const result = Record.safeParse(asJson(text))
  if (result.success) return result.data
  throw problem('CONFIG_INVALID', `Box record ${path} is damaged. fix: move the file away and adopt the box again`, { cause: result.error })
}

type Named = Readonly<{ slug: string; boxId: string; ownershipEpoch: number }>

/**
 * Returns the box of a command and stores a higher ownership epoch. Throws NOT_FOUND when the box is not on this host, LEASE_LOST for a lower
 * epoch, and CONFLICT for a box that was handed over, unless the command accepts those.
 */
export async function boxOfCommand(
  boxes: LocalBoxes,
  { slug, boxId, ownershipEpoch }: Named,
  { handedOver = 'refused' }: Readonly<{ handedOver?: 'refused' | 'welcome' }> = {},
): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box || box.boxId !== boxId) throw problem('NOT_FOUND', `This host has no box ${slug} with id ${boxId}`)
  assertCurrentOwner(box, ownershipEpoch)
  if (box.handedOver && handedOver === 'refused')
    throw problem(
      'CONFLICT',
      `Box ${slug} was handed over to another host at ${box.handedOver.at}. fix: take it back, remove it here, or use its new host`,
    )
  if (ownershipEpoch === box.ownershipEpoch) return box
  const raised = { ...box, ownershipEpoch }
  await boxes.put(raised)
  return raised
}

/** The box of a command that was admitted earlier, possibly before a restart. Throws NOT_FOUND when the box is gone. */
export async function boxOfStartedCommand(boxes: Pick<LocalBoxes, 'find'>, { slug }: Pick<Named, 'slug'>): Promise<LocalBox> {
  const box = await boxes.find(slug)
  if (!box) throw problem('NOT_FOUND', `Box ${slug} is no longer on this host`)
  return box
}

/**
 * The record of a box that is to be provisioned, adopted or taken over. An observed box with another id was deleted by the daemon without
 * notice and is ignored. Throws LEASE_LOST, and ALREADY_EXISTS for another box with this slug.
 */
export async function existingBox(boxes: Pick<LocalBoxes, 'find'>, { slug, boxId, ownershipEpoch }: Named): Promise<LocalBox | undefined> {
  const known = await boxes.find(slug)
  const isForgotten = known?.boxId !== boxId && !known?.managed && known?.ports === null
  if (!known || isForgotten) return undefined
  assertCurrentOwner(known, ownershipEpoch)
  if (known.boxId !== boxId) throw problem('ALREADY_EXISTS', `This host has another box named ${slug} (id ${known.boxId})`)
  return known
}

/** Throws BOX_NOT_MANAGED for an observed box. */
export function assertManaged({ slug, managed }: Pick<LocalBox, 'slug' | 'managed'>): void {
  if (!managed) throw problem('BOX_NOT_MANAGED', observedText(slug))
}

export function assertCurrentOwner(box: LocalBox, ownershipEpoch: number): void {
  if (ownershipEpoch < box.ownershipEpoch)
    throw problem('LEASE_LOST', `Box ${box.slug} has a newer owner (epoch ${box.ownershipEpoch}; the command has ${ownershipEpoch})`)
}

/** Throws ALREADY_EXISTS when a managed box already uses the stack: locks are by slug, so two boxes on one stack would change it at once. */
export async function assertStackUnclaimed(
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
    `Project ${name} in ${folder} already belongs to box ${other.slug}. fix: use that box, or another project and folder`,
  )
}

/** Folder and compose project name of a box provisioned on this host. */
export function projectOf(
  { boxesFolder, projectPrefix = 'box-' }: Pick<BoxSettings, 'boxesFolder' | 'projectPrefix'>,
  slug: string,
): Project {
  const folder = join(boxesFolder, checkedSlug(slug))
  return { name: `${projectPrefix}${slug}`, folder, composeFile: join(folder, 'compose.yaml') }
}
