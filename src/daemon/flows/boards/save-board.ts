import type { BoardDefinition, BoardSummary } from '../../../core/boards/index.ts'
import { type Clock, isoNow, newId, type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import type { Tx } from '../../db/index.ts'
import { recordEvent } from '../../events/index.ts'
import { type BoardRecord, deleteBoardRow, insertBoard, lockBoard, replaceBoard, seesBoard } from './boards.repo.ts'
import type { BoardsDeps } from './deps.ts'
import { noSuchBoard, summaryOf } from './show-boards.ts'
import { storeVersion } from './store-version.ts'

type BoardInput = Readonly<{ name: string; description: string; spaceId: string | null; definition: BoardDefinition }>
type Saved = BoardSummary & Readonly<{ definition: BoardDefinition }>

/** Drafts and active boards of a tenant. Archived ones stay as records, so counting them would leave no way out. */
const maxBoards = 500

/** Creates a board as a draft. Throws VALIDATION for a space that the caller is not in, CONFLICT for too many boards or characters. */
export const createBoard = (deps: BoardsDeps, actor: PlatformPrincipal, { definition, ...input }: BoardInput): Promise<Saved> =>
  deps.db.transaction().execute(async (tx) => {
    await assertOwnSpace(deps, tx, { actor, spaceId: input.spaceId })
    return storeBoard(deps, tx, { tenantId: actor.tenantId, by: actor.userId, input: { definition, ...input } })
  })

type NewBoard = Readonly<{ tenantId: string; by: string | null; input: BoardInput }>

/** Stores a draft; the caller has checked its space. Throws CONFLICT for too many boards or characters. */
export async function storeBoard(
  deps: Pick<BoardsDeps, 'clock' | 'random'>,
  tx: Tx,
  { tenantId, by, input: { definition, ...input } }: NewBoard,
): Promise<Saved> {
  await assertRoomForBoard(tx, tenantId)
  const at = isoNow(deps.clock)
  const states = { status: 'draft', version: 1, publishedVersion: null, publishedSpaceId: null } as const
  const board: BoardRecord = {
    id: newId(deps.random, 'brd'),
    tenantId,
    ...input,
    ...states,
    createdBy: by,
    createdAt: at,
    updatedAt: at,
  }
  await insertBoard(tx, board)
  await storeVersion(tx, board, { version: 1, definition, savedBy: by, savedAt: at })
  await publishBoardEvent(tx, deps.clock, { board, type: 'board.created' })
  return { ...summaryOf(board), definition }
}

/** Throws CONFLICT if the tenant has too many boards for one more that is not archived. */
export async function assertRoomForBoard(tx: Tx, tenantId: string): Promise<void> {
  const { count } = await tx
    .selectFrom('boards')
    .select(({ fn }) => fn.countAll<string>().as('count'))
    .where('tenant_id', '=', tenantId)
    .where('status', '!=', 'archived')
    .executeTakeFirstOrThrow()
  if (Number(count) >= maxBoards)
    throw problem(
      'CONFLICT',
      `The tenant has ${maxBoards} boards that are not archived, which is the limit. fix: archive boards that are not needed, or delete drafts`,
    )
}

/**
 * Saves the next version of a board, and deletes old ones without runs. Runs and the published version stay as they are. Throws NOT_FOUND,
 * CONFLICT (another user saved it since that version, or the tenant stores too many characters), VALIDATION.
 */
export const saveBoard = (
  deps: BoardsDeps,
  actor: PlatformPrincipal,
  { id, version, definition, ...input }: BoardInput & Readonly<{ id: string; version: number }>,
): Promise<Saved> =>
  deps.db.transaction().execute(async (tx) => {
    const board = await lockOwnBoard(tx, actor, { id })
    if (board.version !== version)
      throw problem('CONFLICT', `Board ${id} is at version ${board.version}, not ${version}. fix: read it again and repeat your change`)
    if (input.spaceId !== board.spaceId) await assertOwnSpace(deps, tx, { actor, spaceId: input.spaceId })
    const at = isoNow(deps.clock)
    const saved: BoardRecord = { ...board, ...input, version: version + 1, updatedAt: at }
    await replaceBoard(tx, saved)
    await storeVersion(tx, saved, { version: saved.version, definition, savedBy: actor.userId, savedAt: at })
    await publishBoardEvent(tx, deps.clock, { board: saved, type: 'board.saved' })
    return { ...summaryOf(saved), definition }
  })

/** Deletes a board that was never published. Throws NOT_FOUND, INVALID_TRANSITION. */
export const deleteBoard = (
  { db, clock }: Pick<BoardsDeps, 'db' | 'clock'>,
  actor: PlatformPrincipal,
  { id }: Readonly<{ id: string }>,
): Promise<void> =>
  db.transaction().execute(async (tx) => {
    const board = await lockOwnBoard(tx, actor, { id })
    if (board.publishedVersion !== null)
      throw problem(
        'INVALID_TRANSITION',
        board.status === 'archived'
          ? `Board ${id} is archived: it starts no runs, and its record stays.`
          : `Board ${id} was published, so its record stays. fix: archive it`,
      )
    await deleteBoardRow(tx, board)
    await publishBoardEvent(tx, clock, { board, type: 'board.saved' })
  })

/** A board that the caller sees, locked until the transaction ends. Throws NOT_FOUND. */
export async function lockOwnBoard(tx: Tx, actor: PlatformPrincipal, { id }: Readonly<{ id: string }>): Promise<BoardRecord> {
  const board = await lockBoard(tx, { tenantId: actor.tenantId, id })
  if (!board || !(await seesBoard(tx, actor, board))) throw noSuchBoard(id)
  return board
}

type Placed = Readonly<{ actor: PlatformPrincipal; spaceId: string | null }>

async function assertOwnSpace({ spacesOf }: Pick<BoardsDeps, 'spacesOf'>, tx: Tx, { actor, spaceId }: Placed): Promise<void> {
  if (spaceId === null || (await spacesOf(tx, actor)).some(({ id }) => id === spaceId)) return
  const reason = 'must be a space that you are a member of'
  throw problem('VALIDATION', `spaceId: ${reason}`, { details: [{ path: 'spaceId', reason }] })
}

type Happened = Readonly<{ board: BoardRecord; type: 'board.created' | 'board.saved' | 'board.published' | 'board.archived' }>

/** Boards are read by users with `manageBoards` who find its spaces, so they get the events. */
export async function publishBoardEvent(tx: Tx, clock: Clock, { board, type }: Happened): Promise<void> {
  const { tenantId, id: boardId, spaceId, publishedSpaceId } = board
  const spaces = [...new Set([spaceId, publishedSpaceId])].filter((one) => one !== null)
  const audience = { capability: 'manageBoards' as const, ...(spaces.length > 0 ? { within: spaces } : {}) }
  await recordEvent(tx, clock, { tenantId, type, payload: { boardId, spaceId: spaceId ?? publishedSpaceId }, audience })
}
