import type { AgentError, InstalledVersions, ProbeResult, UpdateEvent, UpdateStep, VersionedService } from '../../core/boxes/index.ts'
import type { JournalEntry } from '../journal/index.ts'
import type { RowCounts } from '../ports/index.ts'

/** A container as it was before the update touched anything. */
type FormerContainer = Readonly<{ id: string; image: string; digest: string | null }>

/** The box before, and what is to change; written once, before the fence. */
export type Before = Readonly<{
  containers: Readonly<Record<string, FormerContainer>>
  /** Services whose image changes. */
  planned: readonly VersionedService[]
  composeSha256: string
  targetSha256: string
  /** The database's volume: its key in the compose file and its real name. */
  database: Readonly<{ key: string; volume: string }>
  /** Absent in what earlier agents wrote down. */
  installed?: InstalledVersions
}>

export type SnapshotEvidence = Readonly<{ snapshotId: string; manifestSha256: string; counts: RowCounts }>

/** Containers as they were started: another id or one more restart means that one died. */
export type Baseline = Readonly<Record<string, Readonly<{ id: string; restartCount: number }>>>

/** What steps left in the journal for later ones, for a resumed update and for the result. */
export type Evidence = Readonly<{
  prefetch?: Before
  snapshot?: SnapshotEvidence
  rewrite?: Readonly<{ backup: string }>
  recreate?: Baseline
  'restore-start'?: Baseline
}>

export const evidenceOf = (entries: readonly JournalEntry[]): Evidence =>
  Object.fromEntries(entries.filter(({ mark, data }) => mark === 'done' && data !== undefined).map(({ step, data }) => [step, data]))

export const probesOf = (entries: readonly JournalEntry[]): ProbeResult[] =>
  entries.filter(({ mark }) => mark === 'note').map(({ data }) => (data as { probe: ProbeResult }).probe)

type Failure = { error?: AgentError; final?: boolean }

export const eventsOf = (entries: readonly JournalEntry[]): UpdateEvent[] =>
  entries.flatMap(({ step, mark, data }) => {
    if (mark === 'note') return []
    const { error, final } = mark === 'failed' ? ((data ?? {}) as Failure) : {}
    return { step: step as UpdateStep, mark, error, final }
  })
