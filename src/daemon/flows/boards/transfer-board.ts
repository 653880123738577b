import {
  type BoardDefinition,
  boardFromBundle,
  bundleOf,
  type FlowBundle,
  roomsNamed,
  type SimulationScript,
  simulateInSteps,
} from '../../../core/boards/index.ts'
import { isoNow, type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import type { DbOrTx } from '../../db/index.ts'
import { inSlices } from './board-work.ts'
import type { BoardsDeps } from './deps.ts'
import { createBoard } from './save-board.ts'
import { showBoard } from './show-boards.ts'

type Tenant = Readonly<{ tenantId: string }>
type One = Readonly<{ id: string }>

/** The bundle of the last saved version. Throws NOT_FOUND, BOARD_INVALID (repeated or missing ids). */
export const exportBoard = async (
  deps: Pick<BoardsDeps, 'db'>,
  actor: PlatformPrincipal,
  one: Readonly<{ id: string }>,
): Promise<FlowBundle> => bundleOf(await showBoard(deps, actor, one))

export type Import = Readonly<{ bundle: FlowBundle; name?: string | undefined; bindings: BoardDefinition['bindings'] }>

/** Creates a draft from a bundle. Throws VALIDATION, CONFLICT (too many boards); nothing is stored then. */
export const importBoard = async (deps: BoardsDeps, actor: PlatformPrincipal, input: Import) =>
  createBoard(deps, actor, await draftOf(deps, actor, input))

/** The draft of a bundle. Throws VALIDATION, also for a room of another tenant. */
export async function draftOf(
  { db, roomsOf }: Readonly<{ db: DbOrTx; roomsOf: BoardsDeps['roomsOf'] }>,
  tenant: Tenant,
  { bundle, name, bindings }: Import,
) {
  const { definition, ...template } = boardFromBundle(bundle, bindings)
  const rooms = new Set(await roomsOf(db, tenant))
  const foreign = roomsNamed(definition).filter(({ room }) => !rooms.has(room))
  if (foreign.length > 0) {
    const details = foreign.slice(0, 100).map(({ path }) => ({ path, reason: 'is not a room of a space of this tenant' }))
    throw problem(
      'VALIDATION',
      `${details[0]?.path}: ${details[0]?.reason}. fix: name a room by a parameter, {"room": "staff"}, and bind it`,
      { details },
    )
  }
  return { ...template, ...(name === undefined ? {} : { name }), spaceId: null, definition }
}

/** Plays the last saved version. Throws NOT_FOUND, BOARD_INVALID, VALIDATION. */
export async function simulateBoard(
  deps: Pick<BoardsDeps, 'db' | 'clock'>,
  actor: PlatformPrincipal,
  { id, script }: One & Readonly<{ script: SimulationScript }>,
) {
  const { definition } = await showBoard(deps, actor, { id })
  return inSlices(deps, simulateInSteps(definition, script, isoNow(deps.clock)))
}
