/**
 * One line of a command's journal. `elapsedMs` counts from the command's beginning on the monotonic clock, over restarts of the agent.
 * `intent` is written before an act, `done` or `failed` after it, `note` for evidence.
 */
export type JournalEntry = Readonly<{
  at: string
  elapsedMs: number
  step: string
  mark: 'intent' | 'done' | 'failed' | 'note'
  data?: unknown
}>

export type CommandRecord = Readonly<{
  commandId: string
  kind: string
  slug: string
  payload: unknown
  begunAt: string
  entries: readonly JournalEntry[]
  /** Set once the command is over; it is then never done again. */
  closed: Readonly<{ at: string; result: unknown; acknowledgedAt: string | null }> | null
}>
