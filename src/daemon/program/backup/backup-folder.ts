import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { lstat, readdir, readFile, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { z } from 'zod'
import { asJson, problem } from '../../../core/kit/index.ts'
import { syncFile, syncFolder } from '../../../node/index.ts'

// A backup is a folder: `backup.json`, the database, `objects/`, `audit/` (public keys and checkpoints), and `SHA256SUMS` over all of them, which `sha256sum -c` reads too.

const manifestName = 'backup.json'
const sumsName = 'SHA256SUMS'

export const databaseNames = { sqlite: 'tenantry.db', postgres: 'database.dump' } as const
export const objectsName = 'objects'
export const auditName = 'audit'

const Manifest = z.strictObject({
  format: z.literal(1),
  at: z.iso.datetime(),
  /** Version of the program that made it. */
  version: z.string(),
  dialect: z.enum(['sqlite', 'postgres']),
  lastMigration: z.string(),
  /** `elsewhere`: in a bucket, of which the backup has no copy. */
  objects: z.enum(['included', 'elsewhere']),
  /** How many objects the database names that were not there. */
  missingObjects: z.int().positive().optional(),
  /** How many objects had other content than the database names. */
  damagedObjects: z.int().positive().optional(),
})
export type BackupManifest = z.infer<typeof Manifest>

/** Checksums by name. */
export type Sums = ReadonlyMap<string, string>

/** Brings the files of a backup to the disk, and returns their checksums. */
export async function sumFiles(folder: string, signal: AbortSignal): Promise<Sums> {
  const sums = new Map<string, string>()
  for (const name of (await filesIn(folder)).files) {
    signal.throwIfAborted()
    await syncFile(join(folder, name))
    sums.set(name, await sumOf(join(folder, name)))
  }
  return sums
}

/** Writes manifest and sums, and brings the whole folder to the disk. Returns count and size of the files. */
export async function sealBackup(folder: string, manifest: BackupManifest, sums: Sums): Promise<{ files: number; bytes: number }> {
  const path = join(folder, manifestName)
  await writeFile(path, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600, flag: 'wx' })
  const all = [...sums, [manifestName, await sumOf(path)] as const].toSorted(([a], [b]) => (a < b ? -1 : 1))
  await writeFile(join(folder, sumsName), all.map(([name, sum]) => `${sum}  ${name}\n`).join(''), { mode: 0o600, flag: 'wx' })
  for (const name of [manifestName, sumsName]) await syncFile(join(folder, name))
  const { folders } = await filesIn(folder)
  for (const below of [...folders.toReversed(), folder]) await syncFolder(below)
  let bytes = 0
  for (const [name] of all) bytes += (await lstat(join(folder, name))).size
  return { files: all.length, bytes }
}

/** The manifest of a backup whose files are all as they were written. Throws BACKUP_INVALID, which names the first file that is not. */
export async function openBackup(folder: string, signal: AbortSignal): Promise<BackupManifest> {
  const [text, sums] = await Promise.all(
    [manifestName, sumsName].map((name) => readFile(join(folder, name), 'utf8').catch(() => undefined)),
  )
  if (text === undefined || sums === undefined)
    throw invalid(`${folder} has no ${text === undefined ? manifestName : sumsName}: it is no backup, or an unfinished one`)
  const { data: manifest } = Manifest.safeParse(asJson(text))
  if (!manifest) throw invalid(`${join(folder, manifestName)} was made by another version or is damaged`)
  const expected = new Map(sums.split('\n').flatMap(readLine))
  for (const name of [manifestName, databaseNames[manifest.dialect]])
    if (!expected.has(name)) throw invalid(`${join(folder, sumsName)} does not name ${name}`)
  const { files } = await filesIn(folder)
  for (const name of files) {
    signal.throwIfAborted()
    if (name === sumsName) continue
    if (!expected.has(name)) throw invalid(`${join(folder, name)} is not part of the backup`)
    if ((await sumOf(join(folder, name))) !== expected.get(name)) throw invalid(`${join(folder, name)} differs from its checksum`)
    expected.delete(name)
  }
  const [missing] = expected.keys()
  if (missing !== undefined) throw invalid(`${join(folder, missing)} is missing`)
  return manifest
}

const invalid = (what: string) => problem('BACKUP_INVALID', `${what}. fix: use another backup`)

const readLine = (line: string): [string, string][] => {
  const [, sum, name] = /^([0-9a-f]{64}) {2}(.+)$/.exec(line) ?? []
  return sum !== undefined && name !== undefined ? [[name, sum]] : []
}

/** By their paths in the folder. A link could lead anywhere: throws BACKUP_INVALID. */
async function filesIn(folder: string): Promise<{ files: string[]; folders: string[] }> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const pathOf = ({ parentPath, name }: (typeof entries)[number]) => join(parentPath, name)
  const odd = entries.find((entry) => !entry.isFile() && !entry.isDirectory())
  if (odd) throw invalid(`${pathOf(odd)} is neither a file nor a folder`)
  return {
    files: entries.flatMap((entry) => (entry.isFile() ? [relative(folder, pathOf(entry))] : [])).toSorted(),
    folders: entries.flatMap((entry) => (entry.isDirectory() ? [pathOf(entry)] : [])).toSorted(),
  }
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const part of createReadStream(path)) hash.update(part)
  return hash.digest('hex')
}
