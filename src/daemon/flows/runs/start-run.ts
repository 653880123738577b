import { type BoardDefinition, boardLimits, boundRoom, readStartVariables, startRun as startState } from '../../../core/boards/index.ts'
import { isoNow, newId, type PlatformPrincipal, problem } from '../../../core/kit/index.ts'
import type { DbOrTx, Tx } from '../../db/index.ts'
import { findSpace } from '../../spaces/index.ts'
import { type BoardRecord, findBoard } from '../boards/boards.repo.ts'
import { noSuchStartable } from '../boards/show-boards.ts'
import { applyStep } from './apply-step.ts'
import { boardOf } from './compiled-boards.ts'
import type { RunsDeps, StepDeps } from './deps.ts'
import { startWarnings } from './eligible-users.ts'
import { earlierAnswer, type Keyed } from './history.repo.ts'
import { namesOfRun } from './run-names.ts'
import { type RunRecord, type RunTrigger, runByStartKey, summaryOf } from './runs.repo.ts'
import { assertMayStart, spaceStates } from './start-rights.ts'
import { hasTimers } from './timers.repo.ts'

type StartInput = Readonly<{ id: string; spaceId: string | null; variables: Readonly<Record<string, unknown>>; key?: string | undefined }>

/**
 * Starts a run for a user. Throws NOT_FOUND, FORBIDDEN (`mayStart`), BOARD_NOT_ACTIVE, VALIDATION (variables, space),
 * KEY_REUSED, PAYLOAD_TOO_LARGE, CONFLICT (too many timers of the tenant).
 */
export const startRun = (deps: StartDeps, actor: PlatformPrincipal, { id, spaceId, variables, key }: StartInput) =>
  deps.db.transaction().execute(async (tx) => {
    const { tenantId, userId } = actor
    // A key is the caller's own: another user with the same key starts another run.
    const keyed = key === undefined ? undefined : { key: `${userId}:${key}`, request: JSON.stringify([spaceId, variables]) }
    const earlier = keyed && (await runByStartKey(tx, { tenantId, boardId: id, startKey: `manual:${keyed.key}` }))
    // A repeated start answers also when the board was archived since.
    if (earlier) return answerOf(tx, earlier, keyed)
    const board = await startableBoard(deps, tx, { actor, boardId: id, spaceId })
    const { run, isNew } = await startBoardRun(deps, tx, {
      ...{ tenantId, boardId: id, by: userId, trigger: { type: 'manual' }, spaceId, variables, keyed },
      key: keyed?.key ?? null,
      board,
    })
    return answerOf(tx, run, isNew ? undefined : keyed)
  })

type StartDeps = Pick<RunsDeps, 'db' | 'clock' | 'random' | 'spacesOf'>
type Wanted = Readonly<{ actor: PlatformPrincipal; boardId: string; spaceId: string | null }>

/** The board, of which the caller may start a run in this space. */
async function startableBoard(deps: StartDeps, db: DbOrTx, { actor, boardId, spaceId }: Wanted): Promise<Active> {
  const { tenantId } = actor
  const board = await activeBoard(db, { tenantId, boardId })
  const { definition } = await boardOf(db, { tenantId, boardId, version: board.publishedVersion })
  await assertMayStart({ definition, actor, board, spaceState: () => spaceStates(deps, db, actor)(board) })
  if (spaceId !== null && spaceId !== board.publishedSpaceId) await assertOwnSpace(deps, db, { actor, board, spaceId })
  return board
}

/** The state of the run; for a repeated start its first answer. Throws KEY_REUSED (another request). */
async function answerOf(db: DbOrTx, run: RunRecord, keyed: Keyed | undefined) {
  const answer = (keyed && (await earlierAnswer(db, run, keyed))) ?? summaryOf(run)
  const { definition } = await boardOf(db, { tenantId: run.tenantId, boardId: run.boardId, version: run.boardVersion })
  return { ...answer, warnings: await startWarnings(db, { run, definition }) }
}

type Placed = Readonly<{ actor: PlatformPrincipal; board: BoardRecord; spaceId: string }>

async function assertOwnSpace({ spacesOf }: Pick<RunsDeps, 'spacesOf'>, db: DbOrTx, { actor, board, spaceId }: Placed): Promise<void> {
  const isMember = (await spacesOf(db, actor)).some(({ id }) => id === spaceId)
  if (isMember && board.publishedSpaceId === null) return
  const reason =
    board.publishedSpaceId === null ? 'must be a space that you are a member of' : `must be left out: runs of this board are in its space`
  throw problem('VALIDATION', `spaceId: ${reason}`, { details: [{ path: 'spaceId', reason }] })
}

type Active = BoardRecord & Readonly<{ publishedVersion: number }>

/** Throws NOT_FOUND, BOARD_NOT_ACTIVE. */
async function activeBoard(db: DbOrTx, { tenantId, boardId }: Readonly<{ tenantId: string; boardId: string }>): Promise<Active> {
  const board = await findBoard(db, { tenantId, id: boardId })
  if (!board) throw noSuchStartable(boardId)
  const { status, publishedVersion } = board
  if (status !== 'active' || publishedVersion === null) {
    const reason = status === 'archived' ? 'archived, so it starts no new runs' : 'a draft, so it starts no runs'
    throw problem('BOARD_NOT_ACTIVE', `Board ${boardId} is ${reason}. fix: publish it first`)
  }
  return { ...board, publishedVersion }
}

type BoardRunInput = Readonly<{
  tenantId: string
  boardId: string
  /** The user who starts the run; null for a trigger without one. */
  by: string | null
  trigger: RunTrigger
  /** Ignored if the board has a space. */
  spaceId: string | null
  variables: Readonly<Record<string, unknown>>
  /** One run per board and key. A trigger's `occurrence` is its key. */
  key?: string | null
  /** The board, if the caller has read it in this transaction. */
  board?: Active
  /** Stores the answer, for a caller that repeats the request. */
  keyed?: Keyed | undefined
}>

/**
 * Starts a run in the caller's transaction; also for triggers and automation, who have checked the right to start. A board has one run per
 * occurrence or key: `isNew` is false for a repeated one. Throws NOT_FOUND, BOARD_NOT_ACTIVE, VALIDATION, PAYLOAD_TOO_LARGE, CONFLICT.
 */
export async function startBoardRun(
  deps: StepDeps,
  tx: Tx,
  { key = null, ...input }: BoardRunInput,
): Promise<Readonly<{ run: RunRecord; isNew: boolean }>> {
  const { tenantId, boardId, trigger } = input
  const startKey = startKeyOf(trigger, key)
  // A repeated start answers also when the board was archived since.
  const earlier = startKey === null ? undefined : await runByStartKey(tx, { tenantId, boardId, startKey })
  if (earlier) return { run: earlier, isNew: false }
  const stored = await applyStep(deps, tx, await newRun(deps, tx, { ...input, startKey }))
  if (stored) return { run: stored, isNew: true }
  // Another request started it at the same time.
  const other = await runByStartKey(tx, { tenantId, boardId, startKey: startKey as string })
  if (!other) throw new Error(`the run ${startKey} of board ${boardId} was deleted meanwhile`)
  return { run: other, isNew: false }
}

type NewRun = Omit<BoardRunInput, 'key'> & Readonly<{ startKey?: string | null }>

/** The first step of a run that is not stored yet. */
async function newRun(
  deps: StepDeps,
  db: DbOrTx,
  { tenantId, boardId, by, trigger, spaceId, variables, startKey = null, keyed, board: read }: NewRun,
) {
  const board = read ?? (await activeBoard(db, { tenantId, boardId }))
  const compiled = await boardOf(db, { tenantId, boardId, version: board.publishedVersion })
  const names = { board: board.name, run: newId(deps.random, 'run') }
  const values = readStartVariables(compiled.definition, variables)
  const now = isoNow(deps.clock)
  const shown = await namesOfRun(deps, db, { tenantId, names, board: compiled, started: { startedBy: by, startedAt: now } })
  const stepped = startState({ board: compiled, now, names: shown }, { by, variables: values })
  // A message may be an alarm: other runs must not use up its timers. Each room has one unfinished run of a board by messages, so these stay few.
  if (trigger.type !== 'chat' && stepped.effects.some(({ type }) => type === 'timer_set')) await assertFewTimers(db, tenantId)
  const run: RunRecord = {
    ...{ id: names.run, tenantId, boardId, boardVersion: board.publishedVersion, boardName: board.name, trigger, startKey },
    ...{ spaceId: await assertSpace(db, compiled.definition, { board, spaceId }), readers: { users: [], roles: [] } },
    ...{ active: { elementIds: [], columnIds: [] }, expiresAt: null, state: { ...stepped.run, failure: null } },
  }
  return { run, isNew: true, stepped, input: { type: 'start', by, variables: values }, keyed } as const
}

/** All tenants share the loop that fires timers. Throws CONFLICT. */
async function assertFewTimers(db: DbOrTx, tenantId: string): Promise<void> {
  const max = boardLimits.timersOfTenant
  if (!(await hasTimers(db, tenantId, max))) return
  throw problem('CONFLICT', `The runs of the tenant have ${max} timers, which is the limit. fix: complete or cancel runs`)
}

const startKeyOf = ({ type, occurrence }: RunTrigger, key: string | null): string | null => {
  const unique = occurrence ?? key
  return unique === null ? null : `${type}:${unique}`
}

type InSpace = Readonly<{ board: BoardRecord; spaceId: string | null }>

/** The space of the run. Throws BOARD_NOT_ACTIVE if that of the board was deleted, VALIDATION if an element needs one and there is none. */
async function assertSpace(db: DbOrTx, definition: BoardDefinition, { board, spaceId }: InSpace): Promise<string | null> {
  const { publishedSpaceId, tenantId, id } = board
  if (publishedSpaceId !== null && !(await findSpace(db, { tenantId, spaceId: publishedSpaceId })))
    throw problem(
      'BOARD_NOT_ACTIVE',
      `The space of board ${id} was deleted, so the board starts no runs. fix: save it with another spaceId and publish it`,
    )
  const placed = publishedSpaceId ?? spaceId
  const needs = definition.elements.find(
    ({ kind, config }) =>
      kind === 'report' ||
      (kind === 'message' && boundRoom(definition, config.room) === 'space') ||
      (kind === 'form' && config.fields.some((field) => field.kind === 'file' || field.kind === 'signature')),
  )
  if (placed !== null || !needs) return placed
  const reason = `is required: "${needs.label}" needs the space of the run`
  throw problem('VALIDATION', `spaceId ${reason}`, { details: [{ path: 'spaceId', reason }] })
}
