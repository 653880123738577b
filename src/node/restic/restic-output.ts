import { ArchivePart, SnapshotTier } from '../../core/boxes/index.ts'
import { asJson, problem } from '../../core/kit/index.ts'
import type { ArchiveTags, SnapshotFacts, StoredSnapshot } from './repository.ts'
import type { Ended } from './run-restic.ts'

const warmTag = 'warm'

// restic splits a tag at commas, so none may be in an id.
export const commandTag = (commandId: string): string => `command:${commandId.replaceAll(',', '%2C')}`

type Tagged = Readonly<{ tier: SnapshotTier; commandId: string; slug: string; warm?: boolean; databaseBytes?: number }>

export const tagsOf = ({ tier, commandId, slug, warm, databaseBytes }: Tagged): string[] => [
  `tier:${tier}`,
  commandTag(commandId),
  `slug:${slug}`,
  ...(databaseBytes === undefined ? [] : [`database:${databaseBytes}`]),
  ...(warm ? [warmTag] : []),
]

/** Tags of a part of an archive. It has neither tier nor command: what lists or restores snapshots of boxes ignores it. */
export const archiveTags = (slug: string, { kind, line, from, to, at, data }: ArchiveTags): string[] => [
  `slug:${slug}`,
  ...[`archive:${kind}`, `line:${line}`, `from:${from}`, `to:${to}`, `at:${at}`],
  ...(data === undefined ? [] : [`data:${data}`]),
]

/** The files of a base that is not complete yet. One that never is expires like other warm copies. */
export const baseFilesTags = (slug: string): string[] => [`slug:${slug}`, commandTag('archive'), warmTag]

type Summary = { message_type?: string; snapshot_id?: string; data_added?: number; total_files_processed?: number }

/** A requested path missing in the snapshot: restic skips missing paths and still exits with 0. */
export const missingPath = ({ stderr }: Ended): string | undefined => /^(.*) does not exist, skipping$/m.exec(stderr)?.[1]

/** Parses the summary of `backup --json`. Without one there is no snapshot, whatever the exit code was. */
export function readSummary({ stdout }: Ended): SnapshotFacts {
  const summary = jsonLines(stdout).findLast(({ message_type }) => message_type === 'summary')
  if (!summary?.snapshot_id) throw problem('SNAPSHOT_FAILED', 'restic finished without a snapshot id')
  return { id: summary.snapshot_id, addedBytes: summary.data_added ?? 0, files: summary.total_files_processed ?? 0 }
}

/** The key that was opened, of `key list --json`. */
export function readCurrentKey({ stdout }: Ended): string | undefined {
  const keys = asJson(stdout)
  const current = Array.isArray(keys) ? (keys as { current?: boolean; id?: unknown }[]).find((key) => key?.current) : undefined
  return typeof current?.id === 'string' ? current.id : undefined
}

const jsonLines = (text: string): Summary[] =>
  text.split('\n').flatMap((line) => (line.startsWith('{') ? (JSON.parse(line) as Summary) : []))

type Listed = {
  id: string
  time: string
  paths?: string[]
  tags?: string[]
  summary?: { data_added?: number; total_files_processed?: number; total_bytes_processed?: number }
}

/** Parses `snapshots --json`, oldest first. */
export function readSnapshots(stdout: string): StoredSnapshot[] {
  const listed = JSON.parse(stdout.trim() || '[]') as Listed[] | null
  return (listed ?? []).map(({ id, time, paths = [], tags = [], summary }) => ({
    id,
    addedBytes: summary?.data_added ?? 0,
    files: summary?.total_files_processed ?? 0,
    takenAt: new Date(time).toISOString(),
    totalBytes: summary?.total_bytes_processed ?? null,
    paths,
    tags,
    ...readTags(tags),
    archive: readArchive(id, tags, summary?.data_added ?? 0),
  }))
}

const tagOf = (tags: readonly string[], name: string): string | null =>
  tags.find((tag) => tag.startsWith(`${name}:`))?.slice(name.length + 1) ?? null

function readArchive(snapshotId: string, tags: readonly string[], addedBytes: number): ArchivePart | null {
  const of = (name: string) => tagOf(tags, name)
  const data = of('data')
  const facts = {
    snapshotId,
    ...(data === null ? {} : { data }),
    kind: of('archive'),
    line: of('line'),
    from: of('from'),
    to: of('to'),
    at: of('at'),
    addedBytes,
  }
  return ArchivePart.safeParse(facts).data ?? null
}

function readTags(tags: readonly string[]): Pick<StoredSnapshot, 'tier' | 'commandId' | 'slug' | 'warm' | 'databaseBytes'> {
  const of = (name: string) => tagOf(tags, name)
  const tier = SnapshotTier.safeParse(of('tier'))
  return {
    tier: tier.success ? tier.data : null,
    commandId: of('command')?.replaceAll('%2C', ',') ?? null,
    slug: of('slug'),
    databaseBytes: /^[0-9]+$/.test(of('database') ?? '') ? Number(of('database')) : null,
    warm: tags.includes(warmTag),
  }
}

// restic reports damage also when the store refuses or disconnects; only these messages about packs, trees, blobs and the index mean damage.
const damage =
  /\bpack [0-9a-f]{64}: does not exist|unexpected (?:file size|pack id)|ciphertext verification failed|invalid data returned|not found in (?:repository|index)|not contained in index|ID does not match|decompression failed|invalid header length/i

/** True when `check` found missing or corrupt data. */
export const namesDamage = ({ stdout, stderr }: Ended): boolean => damage.test(stderr) || damage.test(stdout)

/** Damaged pack files named by `check`. */
export function readBrokenPacks({ stdout, stderr }: Ended): string[] {
  const said = `${stdout}\n${stderr}`
  const named = [...said.matchAll(/\bpack ([0-9a-f]{64})\b/g), ...said.matchAll(/"broken_packs":\[([^\]]*)\]/g)]
  return [...new Set(named.flatMap(([, text = '']) => text.match(/[0-9a-f]{64}/g) ?? []))].sort()
}

const units: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30, TiB: 2 ** 40 }

/** Approximate bytes freed, from the text output of `prune`; null when missing. */
export function readFreedBytes({ stdout }: Ended): number | null {
  const [, amount, unit] = /^total prune:.*\/\s*([0-9.]+) ([KMGT]?i?B)\s*$/m.exec(stdout) ?? []
  const factor = units[unit ?? '']
  return amount === undefined || factor === undefined ? null : Math.round(Number(amount) * factor)
}
