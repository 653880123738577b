import type { Board, RunEffect, WorkElement } from '../../../core/boards/index.ts'
import type { RunRecord } from './runs.repo.ts'

/** A step while its effects are applied. `run` is the run after it. */
export type AppliedStep = Readonly<{ run: RunRecord; board: Board; effects: readonly RunEffect[]; at: string }>

/** An open element that fewer active users can approve or do than it needs. `escalationRole`: gets a task for it. */
export type Stalled = Readonly<{
  tokenId: string
  elementId: string
  kind: WorkElement['kind']
  /** Null: the user who started the run. */
  role: string | null
  eligible: number
  required: number
  escalationRole: string | null
}>
