import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { Digest, InstalledVersions } from '../../core/boxes/index.ts'
import { problem, sha256Hex } from '../../core/kit/index.ts'
import { readIfThere, syncFile, writeFileAtomic } from '../../node/index.ts'

const DataFolder = z.object({ service: z.enum(['synapse', 'minio']), key: z.string().nullable(), volume: z.string(), folder: z.string() })

/** Contents of a snapshot and the command that made it. Written last, so its presence means that everything else is complete. */
const DumpManifest = z.object({
  format: z.literal(1),
  commandId: z.string(),
  // Shown in messages.
  slug: z.string().regex(/^[\w.-]{1,100}$/),
  boxId: z.string().regex(/^[\w.-]{1,100}$/),
  at: z.string(),
  tier: z.string(),
  images: z.record(z.string(), z.object({ image: z.string(), digest: Digest.nullable() })),
  migrationsHead: z.string().regex(/^[\w-]{1,64}$/),
  rows: z.record(z.string(), z.number()),
  /** Size of the database on disk, which is larger than its dump. */
  databaseBytes: z.number().exactOptional(),
  files: z.record(z.string(), z.object({ sha256: z.string() })),
  // Absent in snapshots of the first agents, which only the update that took them can restore.
  installed: InstalledVersions.optional(),
  /** The absolute paths on the host that took the snapshot: by these its parts are found in it. */
  paths: z.object({ dumpFolder: z.string(), boxFolder: z.string(), data: z.array(DataFolder) }).optional(),
  /** Facts for rebuilding the box on a host. */
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

/** A manifest with all that is needed to rebuild the box anywhere. */
export type FullManifest = DumpManifest & Required<Pick<DumpManifest, 'installed' | 'paths' | 'box'>>

export const isFullManifest = (manifest: DumpManifest): manifest is FullManifest =>
  manifest.installed !== undefined && manifest.paths !== undefined && manifest.box !== undefined

const fileName = 'manifest.json'

export const manifestPath = (folder: string): string => join(folder, fileName)

/** Writes the manifest over all files of the folder, and returns its checksum. */
export async function writeManifest(folder: string, facts: Omit<FullManifest, 'format' | 'files'>): Promise<string> {
  // Durable before the manifest says so: after a power cut the rollback must not depend on the daemon.
  const manifest: FullManifest = { format: 1, ...facts, files: await sumsOf(folder, syncFile) }
  const text = `${JSON.stringify(manifest, null, 2)}\n`
  await writeFileAtomic(manifestPath(folder), text)
  return sha256Hex(text)
}

type ReadManifest = Readonly<{ manifest: DumpManifest; sha256: string }>

/** The manifest of a folder and its checksum, if all files that it names exist and match; else undefined. */
export async function readVerifiedDump(folder: string): Promise<ReadManifest | undefined> {
  const read = await readManifest(folder)
  return read && (await matchesManifest(folder, read.manifest)) ? read : undefined
}

/** A manifest has a few kilobytes; one fetched from a store is not read into memory whatever its size. */
const maxManifestBytes = 4_000_000

/** The manifest alone, without checking the files that it names. Undefined if it is missing, damaged or too large. */
export async function readManifest(folder: string): Promise<ReadManifest | undefined> {
  const path = manifestPath(folder)
  const { size = 0 } = (await stat(path).catch(() => undefined)) ?? {}
  const text = size > maxManifestBytes ? undefined : await readIfThere(path)
  const manifest = text === undefined ? undefined : parse(text)
  return text === undefined || !manifest ? undefined : { manifest, sha256: sha256Hex(text) }
}

/** Reads every file to its end, unless aborted. A manifest that names no file proves nothing. */
export async function matchesManifest(folder: string, { files }: Pick<DumpManifest, 'files'>, signal?: AbortSignal): Promise<boolean> {
  if (Object.keys(files).length === 0) return false
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

/** Throws RESTORE_FAILED for a link or device in a dump folder: it could point to any file of this host. */
export async function assertPlainDump(folder: string): Promise<void> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => [])
  const special = entries.find((entry) => !(entry.isFile() || entry.isDirectory()))
  if (special) throw problem('RESTORE_FAILED', `the dump has ${JSON.stringify(special.name.slice(0, 80))}, which is not a regular file`)
}

/** The names of all files of a dump folder except its manifest. */
export const dumpFiles = async (folder: string): Promise<string[]> => (await readdir(folder)).filter((name) => name !== fileName)

/** Checksums of all files of a folder; the disk syncs one while the processor hashes it. */
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

/** The default of 64 kB makes reading slower than hashing. */
const readBytes = 256 * 1024

async function sumOf(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: readBytes, ...(signal ? { signal } : {}) }))
    hash.update(chunk as Buffer)
  return hash.digest('hex')
}
