import type { Board, RunNames, RunState } from '../../../core/boards/index.ts'
import { localText } from '../../../core/wall-clock/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { tenantById } from '../../tenants/index.ts'
import { findUserById } from '../../users/index.ts'
import type { StepDeps } from './deps.ts'

type Named = Readonly<{
  tenantId: string
  names: Pick<RunNames, 'board' | 'run'>
  board: Board
  started: Pick<RunState, 'startedBy' | 'startedAt'>
}>

/** Values of the texts of a run. Reads the user and the time zone of the tenant only for a board whose texts name them. */
export async function namesOfRun({ timeZone = 'UTC' }: StepDeps, db: DbOrTx, { tenantId, names, board, started }: Named) {
  const { startedBy, startedAt } = started
  const user = board.names.has('startedBy') && startedBy !== null ? await findUserById(db, startedBy) : undefined
  const zone = board.names.has('startedAt') ? ((await tenantById(db, tenantId))?.timeZone ?? timeZone) : undefined
  return {
    ...names,
    ...(user?.tenantId === tenantId ? { startedBy: user.displayName ?? user.localpart } : {}),
    ...(zone === undefined ? {} : { startedAt: localText(startedAt, zone) }),
  }
}
