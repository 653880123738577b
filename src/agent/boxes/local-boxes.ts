import { mkdir, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Slug } from '../../core/boxes/index.ts'
import { asJson, isProblem, problem } from '../../core/kit/index.ts'
import { readIfThere, syncFolder, writeFileAtomic } from '../../node/index.ts'
import type { LocalBox } from '../ports/index.ts'

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
