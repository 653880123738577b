import type { Board, RunEffect } from '../../../core/boards/index.ts'
import type { RunRecord } from './runs.repo.ts'

/** A step while its effects are applied. `run` is the run after it. */
export type AppliedStep = Readonly<{ run: RunRecord; board: Board; effects: readonly RunEffect[]; at: string }>
