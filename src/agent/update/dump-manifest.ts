import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { isoNow, sha256Hex } from '../../core/kit/index.ts'
import { readIfThere, writeFileAtomic } from '../../node/index.ts'
import type { RowCounts } from '../ports/index.ts'
import { beforeOf, type UpdateRun } from './update-run.ts'

/** What a snapshot holds of the database and by which update it was made; written last, so that its presence says that all else is whole. */
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
  files: z.record(z.string(), z.object({ sha256: z.string() })),
})
export type DumpManifest = z.infer<typeof DumpManifest>

const fileName = 'manifest.json'

export async function writeManifest(run: UpdateRun, rows: RowCounts): Promise<string> {
  const { box, context, dumpFolder } = run
  const images = Object.entries(beforeOf(run).containers).map(([service, { image, digest }]) => [service, { image, digest }])
  const manifest: DumpManifest = {
    format: 1,
    commandId: context.commandId,
    slug: box.slug,
    boxId: box.boxId,
    at: isoNow(run.needs.clock),
    tier: 'pre-update',
    images: Object.fromEntries(images),
    migrationsHead: box.migrationsHead,
    rows: { ...rows },
    files: await sumsOf(dumpFolder),
  }
  const text = `${JSON.stringify(manifest, null, 2)}\n`
  // On disk before the manifest says so: after a power cut the way back must not depend on the daemon.
  for (const name of Object.keys(manifest.files)) await syncFile(join(dumpFolder, name))
  await writeFileAtomic(join(dumpFolder, fileName), text)
  return sha256Hex(text)
}

/** The manifest of a folder and its sum, if all files that it names are there and are what it says; else undefined. */
export async function readWholeDump(folder: string): Promise<{ manifest: DumpManifest; sha256: string } | undefined> {
  const text = await readIfThere(join(folder, fileName))
  const manifest = text === undefined ? undefined : parse(text)
  if (text === undefined || !manifest) return undefined
  const sums = await sumsOf(folder)
  const whole = Object.entries(manifest.files).every(([name, { sha256 }]) => sums[name]?.sha256 === sha256)
  return whole ? { manifest, sha256: sha256Hex(text) } : undefined
}

function parse(text: string): DumpManifest | undefined {
  try {
    return DumpManifest.parse(JSON.parse(text))
  } catch {
    return undefined
  }
}

async function syncFile(path: string): Promise<void> {
  const file = await open(path, 'r')
  try {
    await file.sync()
  } finally {
    await file.close()
  }
}

async function sumsOf(folder: string): Promise<DumpManifest['files']> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile() && entry.name !== fileName && !entry.name.startsWith('.')).map(({ name }) => name)
  const sums = await Promise.all(names.sort().map(async (name) => [name, { sha256: await sumOf(join(folder, name)) }] as const))
  return Object.fromEntries(sums)
}

async function sumOf(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
  return hash.digest('hex')
}
