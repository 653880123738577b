import { SnapshotTier } from '../../core/boxes/index.ts'
import { problem } from '../../core/kit/index.ts'
import type { SnapshotFacts, SnapshotRequest, StoredSnapshot } from '../ports/index.ts'
import type { Ended } from './run-restic.ts'

export const warmTag = 'warm'

// restic splits a tag at commas, so none may be in an id.
export const commandTag = (commandId: string): string => `command:${commandId.replaceAll(',', '%2C')}`

export const tagsOf = ({ tier, commandId, slug, warm }: SnapshotRequest): string[] => [
  `tier:${tier}`,
  commandTag(commandId),
  `slug:${slug}`,
  ...(warm ? [warmTag] : []),
]

type Summary = { message_type?: string; snapshot_id?: string; data_added?: number; total_files_processed?: number }

/** The facts in the last line of `backup --json`. Without a summary there is no snapshot, whatever the exit code was. */
export function readSummary({ stdout, stderr }: Ended): SnapshotFacts {
  // restic leaves out a path that does not exist and still ends with 0.
  const missing = /^(.*) does not exist, skipping$/m.exec(stderr)?.[1]
  if (missing) throw problem('SNAPSHOT_FAILED', `the snapshot lacks ${missing}, which does not exist`)
  const summary = jsonLines(stdout).findLast(({ message_type }) => message_type === 'summary')
  if (!summary?.snapshot_id) throw problem('SNAPSHOT_FAILED', 'restic ended without saying which snapshot it made')
  return { id: summary.snapshot_id, addedBytes: summary.data_added ?? 0, files: summary.total_files_processed ?? 0 }
}

const jsonLines = (text: string): Summary[] =>
  text.split('\n').flatMap((line) => (line.startsWith('{') ? (JSON.parse(line) as Summary) : []))

type Listed = {
  id: string
  time: string
  paths?: string[]
  tags?: string[]
  summary?: { data_added?: number; total_files_processed?: number }
}

/** The answer of `snapshots --json`, oldest first. */
export function readSnapshots(stdout: string): StoredSnapshot[] {
  const listed = JSON.parse(stdout || '[]') as Listed[] | null
  return (listed ?? []).map(({ id, time, paths = [], tags = [], summary }) => ({
    id,
    addedBytes: summary?.data_added ?? 0,
    files: summary?.total_files_processed ?? 0,
    takenAt: new Date(time).toISOString(),
    paths,
    tags,
    ...readTags(tags),
  }))
}

function readTags(tags: readonly string[]): Pick<StoredSnapshot, 'tier' | 'commandId' | 'slug' | 'warm'> {
  const of = (name: string) => tags.find((tag) => tag.startsWith(`${name}:`))?.slice(name.length + 1) ?? null
  const tier = SnapshotTier.safeParse(of('tier'))
  return {
    tier: tier.success ? tier.data : null,
    commandId: of('command')?.replaceAll('%2C', ',') ?? null,
    slug: of('slug'),
    warm: tags.includes(warmTag),
  }
}
