import { type BoardFinding, hasEnded, moveRun, type RunState, violationsOf } from '../../../core/boards/index.ts'
import { problem } from '../../../core/kit/index.ts'
import type { Db } from '../../db/index.ts'
import { inSlices } from '../boards/board-work.ts'
import { findBoard } from '../boards/boards.repo.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps } from './deps.ts'
import type { RunRecord } from './runs.repo.ts'

/** `seq`: of the run that was checked. */
export type VersionMove = Readonly<{ boardVersion: number; seq: number; pending: RunState['pending'] }>

type Wanted = Readonly<{
  run: RunRecord
  boardVersion: number | undefined
  /** Operators do not learn texts and variables of a board. */
  isOperator?: boolean
}>

/**
 * Checks whether a failed run can continue with the published version of its board. Reads alone, and takes up to a second of CPU in slices: the
 * caller locks the run afterwards. Returns undefined where nothing is to be moved. Throws VALIDATION (not the published version),
 * VERSION_UNFIT.
 */
export async function checkedMove(
  deps: Pick<RunsDeps, 'clock'> & Readonly<{ db: Db }>,
  { run, boardVersion, isOperator = false }: Wanted,
): Promise<VersionMove | undefined> {
  const { tenantId, boardId, state } = run
  if (boardVersion === undefined || boardVersion === run.boardVersion || state.status !== 'failed' || hasEnded(state)) return undefined
  const board = await findBoard(deps.db, { tenantId, id: boardId })
  const published = board?.publishedVersion
  if (!board || published !== boardVersion) throw notPublished(run, published ?? undefined)
  const from = await boardOf(deps.db, { tenantId, boardId, version: run.boardVersion })
  const to = await boardOf(deps.db, { tenantId, boardId, version: boardVersion })
  const spaces = { spaceId: run.spaceId, versionSpaceId: board.publishedSpaceId }
  const { pending, faults } = await inSlices(deps, moveRun({ run: state, from, to, ...spaces }))
  if (faults.length > 0) throw unfit(run, { boardVersion, faults, isOperator })
  return { boardVersion, seq: state.seq, pending }
}

function notPublished({ id, boardId }: RunRecord, published: number | undefined) {
  const fix = published === undefined ? 'publish the board' : `pass ${published}`
  const reason = `run ${id} continues with the published version of its board ${boardId} alone. fix: ${fix}`
  return problem('VALIDATION', `boardVersion: ${reason}`, { details: [{ path: 'boardVersion', reason }] })
}

type Unfit = Readonly<{ boardVersion: number; faults: readonly BoardFinding[]; isOperator: boolean }>

const maxNamed = 3

function unfit({ id }: RunRecord, { boardVersion, faults, isOperator }: Unfit) {
  const shown = isOperator ? faults.map(withoutContent) : faults
  const named = shown.slice(0, maxNamed).map(({ message }) => message)
  const more = shown.length > maxNamed ? `; and ${shown.length - maxNamed} more` : ''
  return problem(
    'VERSION_UNFIT',
    `Run ${id} cannot continue with version ${boardVersion} of its board: ${named.join('; ')}${more}. ` +
      'fix: publish a version that has this, or cancel the run and start a new one',
    { violations: violationsOf(shown) },
  )
}

const withoutContent = (fault: BoardFinding): BoardFinding => ({
  ...fault,
  message: fault.elementId === null ? fault.code : `${fault.code} at ${fault.elementId}`,
})
