import { type BoardFinding, checkInSteps, violationsOf } from '../../../core/boards/index.ts'
import { isoNow, type PlatformPrincipal, plural, problem } from '../../../core/kit/index.ts'
import { listedRoles } from '../../../core/users/index.ts'
import { recordAudit } from '../../audit/index.ts'
import { findSpace } from '../../spaces/index.ts'
import { inSlices } from './board-work.ts'
import { type BoardReader, type BoardRecord, replaceBoard } from './boards.repo.ts'
import type { BoardsDeps } from './deps.ts'
import { foreignSpaces } from './foreign-spaces.ts'
import { assertRoomForBoard, lockOwnBoard, publishBoardEvent } from './save-board.ts'
import { readBoard, summaryOf, versionOf } from './show-boards.ts'

type One = Readonly<{ id: string }>

/** The faults of the last saved version. Throws NOT_FOUND. */
export async function checkBoard(
  deps: BoardsDeps,
  reader: BoardReader,
  { id }: One,
): Promise<{ name: string; version: number; findings: BoardFinding[] }> {
  const board = await readBoard(deps.db, reader, id)
  return { name: board.name, version: board.version, findings: (await checked(deps, { board, userId: reader.userId })).findings }
}

type Checked = Readonly<{ board: BoardRecord; userId: string | null }>

/** `userId`: the user who would publish the board; null for an operator, who only reads the findings. */
async function checked(deps: BoardsDeps, { board, userId }: Checked) {
  const { db, roles, roomsOf, triggerPlace } = deps
  const { definition } = await versionOf(db, board, board.version)
  const rooms = new Set(await roomsOf(db, board))
  const place = await triggerPlace(db, { ...board, boardId: board.id, definition })
  const listed = new Set(listedRoles(roles))
  const names = Object.keys(roles.roles)
  const unlistedRoles = new Set(names.filter((name) => !listed.has(name)))
  const context = { roles: new Set(names), unlistedRoles, rooms, place, now: place.now }
  const findings = await inSlices(deps, checkInSteps(definition, context))
  const foreign = userId === null ? [] : await foreignSpaces(deps, definition, { board, userId })
  return { definition, findings: [...(await deletedSpace(deps, board)), ...findings, ...foreign] }
}

async function deletedSpace({ db }: BoardsDeps, { tenantId, spaceId }: BoardRecord): Promise<BoardFinding[]> {
  if (spaceId === null || (await findSpace(db, { tenantId, spaceId }))) return []
  const message = 'the space of the board was deleted, so it starts no runs. fix: save the board with another spaceId'
  return [{ severity: 'error', code: 'SPACE_DELETED', elementId: null, message }]
}

/**
 * Makes the last saved version the one that runs begin with. Throws NOT_FOUND, BOARD_INVALID with each fault, CONFLICT (saved, published or archived meanwhile, too many boards).
 */
export async function publishBoard(deps: BoardsDeps, actor: PlatformPrincipal, { id }: One) {
  const found = await readBoard(deps.db, actor, id)
  const { definition, findings } = await checked(deps, { board: found, userId: actor.userId })
  assertSound(found, findings)
  return deps.db.transaction().execute(async (tx) => {
    const board = await lockOwnBoard(tx, actor, { id })
    if (board.version !== found.version) throw changedMeanwhile(id, 'saved')
    if (board.status === 'active' && board.publishedVersion === board.version) return { ...summaryOf(board), definition }
    if (!isPublishedAs(board, found)) throw changedMeanwhile(id, board.status === 'archived' ? 'archived' : 'published')
    if (board.status === 'archived') await assertRoomForBoard(tx, board.tenantId)
    const now = { publishedVersion: board.version, publishedSpaceId: board.spaceId, updatedAt: isoNow(deps.clock) }
    const published: BoardRecord = { ...board, ...now, status: 'active' }
    await replaceBoard(tx, published)
    await deps.replaceTriggers(tx, { ...board, boardId: id, definition })
    await publishBoardEvent(tx, deps.clock, { board: published, type: 'board.published' })
    await recordAudit(tx, deps.clock, {
      actor,
      action: 'board.published',
      subject: actor.tenantSlug,
      data: { boardId: id, version: board.version },
    })
    return { ...summaryOf(published), definition }
  })
}

const changedMeanwhile = (id: string, how: 'saved' | 'published' | 'archived') =>
  problem('CONFLICT', `Board ${id} was ${how} while it was checked. fix: publish it again`)

/** The check accepts what the published version does already, while the board is active. */
const isPublishedAs = (board: BoardRecord, found: BoardRecord): boolean =>
  (['status', 'publishedVersion', 'publishedSpaceId'] as const).every((field) => board[field] === found[field])

function assertSound({ name, version }: BoardRecord, findings: readonly BoardFinding[]): void {
  const errors = findings.filter(({ severity }) => severity === 'error')
  if (errors.length === 0) return
  throw problem(
    'BOARD_INVALID',
    `Version ${version} of "${name}" has ${plural(errors.length, 'fault')}, so it was not published. fix: check the board, which lists them`,
    { violations: violationsOf(errors) },
  )
}

/** Ends the life of an active board: no new runs. Archiving it again changes nothing. Throws NOT_FOUND, INVALID_TRANSITION (a draft). */
export const archiveBoard = (deps: BoardsDeps, actor: PlatformPrincipal, { id }: One) =>
  deps.db.transaction().execute(async (tx) => {
    const board = await lockOwnBoard(tx, actor, { id })
    const { definition } = await versionOf(tx, board, board.version)
    if (board.status === 'archived') return { ...summaryOf(board), definition }
    if (board.status === 'draft') throw problem('INVALID_TRANSITION', `Board ${id} is a draft. fix: delete it, or publish it first`)
    const archived: BoardRecord = { ...board, status: 'archived', updatedAt: isoNow(deps.clock) }
    await replaceBoard(tx, archived)
    await deps.replaceTriggers(tx, { ...board, boardId: id, definition: null })
    await publishBoardEvent(tx, deps.clock, { board: archived, type: 'board.archived' })
    await recordAudit(tx, deps.clock, { actor, action: 'board.archived', subject: actor.tenantSlug, data: { boardId: id } })
    return { ...summaryOf(archived), definition }
  })
