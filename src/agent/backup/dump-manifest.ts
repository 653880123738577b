import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { InstalledVersions } from '../../core/boxes/index.ts'
import { sha256Hex } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'

const DataFolder = z.object({ service: z.enum(['synapse', 'minio']), key: z.string().nullable(), volume: z.string(), folder: z.string() })

/** What a snapshot holds and by which command it was made; written last, so that its presence says that all else is whole. */
const DumpManifest = z.object({
  format: z.literal(1),
  commandId: z.string(),
  slug: z.string(),
  boxId: z.string(),
  at: z.string(),
  tier: z.string(),
  images: z.record(z.string(), z.object({ image: z.string(), digest: z.string().nullable() })),
  migrationsHead: z.string(),
  rows: z.record(z.string(), z.number()),
  /** Of the database on disk, which is more than its dump. */
  databaseBytes: z.number().exactOptional(),
  files: z.record(z.string(), z.object({ sha256: z.string() })),
  // The rest was not written by the first agents; a snapshot without it can only be restored by the update that took it.
  installed: InstalledVersions.optional(),
  /** Where all of it lay on the host that took it, as absolute paths: by these it is found in the snapshot. */
  paths: z.object({ dumpFolder: z.string(), boxFolder: z.string(), data: z.array(DataFolder) }).optional(),
  /** What a host must know to make the box again. */
  box: z
    .object({
      chatDomain: z.string(),
      ports: z.object({ public: z.number(), platform: z.number(), probe: z.number() }).nullable(),
      project: z.string(),
      composeFile: z.string(),
      envFile: z.string().exactOptional(),
      managed: z.boolean(),
      ownershipEpoch: z.number(),
    })
    .optional(),
})
export type DumpManifest = z.infer<typeof DumpManifest>

/** One that says all that is needed to bring the box back anywhere. */
export type TellingManifest = DumpManifest & Required<Pick<DumpManifest, 'installed' | 'paths' | 'box'>>

export const isTelling = (manifest: DumpManifest): manifest is TellingManifest =>
  manifest.installed !== undefined && manifest.paths !== undefined && manifest.box !== undefined

const fileName = 'manifest.json'

/** Writes the manifest over everything that is in the folder by now, and answers its sum. */
export async function writeManifest(folder: string, facts: Omit<TellingManifest, 'format' | 'files'>): Promise<string> {
  // On disk before the manifest says so: after a power cut the way back must not depend on the daemon.
  const manifest: TellingManifest = { format: 1, ...facts, files: await sumsOf(folder, syncFile) }
  const text = `${JSON.stringify(manifest, null, 2)}\n`
  await writeFileAtomic(join(folder, fileName), text)
  return sha256Hex(text)
}

type ReadManifest = Readonly<{ manifest: DumpManifest; sha256: string }>

/** The manifest of a folder and its sum, if all files that it names are there and are what it says; else undefined. */
export async function readWholeDump(folder: string): Promise<ReadManifest | undefined> {
  const read = await readManifest(folder)
  return read && (await holdsAll(folder, read.manifest)) ? read : undefined
}

/** Whatever the files are that it names. */
export async function readManifest(folder: string): Promise<ReadManifest | undefined> {
  const text = await readIfThere(join(folder, fileName))
  const manifest = text === undefined ? undefined : parse(text)
  return text === undefined || !manifest ? undefined : { manifest, sha256: sha256Hex(text) }
}

/** Reads every file to its end, unless that is no longer asked for. */
export async function holdsAll(folder: string, { files }: Pick<DumpManifest, 'files'>, signal?: AbortSignal): Promise<boolean> {
  const sums = await sumsOf(folder, undefined, signal)
  return Object.entries(files).every(([name, { sha256 }]) => sums[name]?.sha256 === sha256)
}

function parse(text: string): DumpManifest | undefined {
  try {
    return DumpManifest.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

/** Names of all that lies in a dump's folder but its manifest. */
export const besideManifest = async (folder: string): Promise<string[]> => (await readdir(folder)).filter((name) => name !== fileName)

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

/** Sums of all files of a folder; the disk takes one while the processor sums it up. */
async function sumsOf(
  folder: string,
  beside: (path: string) => Promise<void> = async () => undefined,
  signal?: AbortSignal,
): Promise<DumpManifest['files']> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && entry.name !== fileName && !entry.name.startsWith('.')).map(({ name }) => name)
  const one = async (name: string) => {
    const path = join(folder, name)
    const [sha256] = await Promise.all([sumOf(path, signal), beside(path)])
    return [name, { sha256 }] as const
  }
  return Object.fromEntries(await Promise.all(names.sort().map(one)))
}

/** Asked for by the usual 64 kB, reading takes longer than summing up. */
const readBytes = 256 * 1024

async function sumOf(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: readBytes, ...(signal ? { signal } : {}) }))
    hash.update(chunk as Buffer)
  return hash.digest('hex')
}
