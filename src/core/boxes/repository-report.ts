import { z } from 'zod'
import { ArchivePart } from './archive.ts'
import { AgentError, SnapshotTier } from './command-parts.ts'

/** A snapshot as the repository lists it. */
export const ListedSnapshot = z.object({
  snapshotId: z.string(),
  tier: SnapshotTier.nullable(),
  commandId: z.string().nullable(),
  slug: z.string().nullable(),
  takenAt: z.string(),
  addedBytes: z.number().min(0),
})
export type ListedSnapshot = z.infer<typeof ListedSnapshot>

/** restic's id of a repository; it never changes. */
export const RepositoryId = z.string().regex(/^[0-9a-f]{64}$/)

/** Result of repository maintenance. */
export const RepositoryReport = z.object({
  forgotten: z.array(z.string()),
  present: z.array(ListedSnapshot).max(5_000),
  /** The newest parts of archives; absent from older agents. */
  archive: z.array(ArchivePart).max(10_000).optional(),
  freedBytes: z.number().min(0).nullable(),
  check: z.object({ ok: z.boolean(), error: AgentError.nullable() }).nullable(),
  repositoryId: RepositoryId,
})
export type RepositoryReport = z.infer<typeof RepositoryReport>
