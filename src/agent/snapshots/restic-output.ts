import { problem } from '../../core/kit/index.ts'
import type { SnapshotFacts, SnapshotRequest } from '../ports/index.ts'
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

type Listed = { id: string; tags?: string[]; summary?: { data_added?: number; total_files_processed?: number } }

/** The answer of `snapshots --json`, oldest first. */
export function readSnapshots(stdout: string): { tags: readonly string[]; facts: SnapshotFacts }[] {
  const listed = JSON.parse(stdout || '[]') as Listed[] | null
  return (listed ?? []).map(({ id, tags = [], summary }) => ({
    tags,
    facts: { id, addedBytes: summary?.data_added ?? 0, files: summary?.total_files_processed ?? 0 },
  }))
}
