import type { BoardDefinition } from '../../src/core/boards/index.ts'
import { isoNow, newId, problem } from '../../src/core/kit/index.ts'
import type { Db } from '../../src/daemon/db/index.ts'
import type { StartRun } from '../../src/daemon/flows/triggers/deps.ts'
import { occurrencesOf } from '../../src/daemon/flows/triggers/occurrences.repo.ts'
import { triggersOfBoards } from '../../src/daemon/flows/triggers/triggers-of-boards.ts'
import { sketch } from '../core/boards/sketch.ts'
import { aSpacesWorld } from './spaces-world.ts'

/** Triggers of the tenant `acme` with a simulated chat server. Runs are started by a stand-in that stores nothing. */
export async function aTriggersWorld(db: Db) {
  const room = await aSpacesWorld(db)
  const { tenantId, clock, random } = room
  const runs = {
    refuse: undefined as string | undefined,
    fail: undefined as Error | undefined,
    unfinished: new Set<string>(),
    unfinishedSince: '2026-01-04T14:00:00.000Z',
  }
  const sent: Readonly<{ tenantId: string; roomId: string; body: string; transactionId: string }>[] = []
  const started: Parameters<StartRun>[1][] = []
  const deps = {
    ...room,
    owner: 'replica-1',
    timeZone: 'Europe/Berlin',
    startRun: (async (_, run) => {
      if (runs.refuse) throw problem('INVALID_TRANSITION', runs.refuse)
      if (runs.fail) throw runs.fail
      started.push(run)
      return { id: newId(random, 'run') }
    }) as StartRun,
    unfinishedRun: async (_: unknown, { boardId, runId }: Readonly<{ boardId: string; runId: string | null }>) =>
      runs.unfinished.has(boardId) || (runId !== null && runs.unfinished.has(runId)) ? { startedAt: runs.unfinishedSince } : undefined,
    sendMessage: async (message: (typeof sent)[number]) => {
      sent.push(message)
      return '$event'
    },
  }
  const ports = triggersOfBoards(deps)

  async function aBoard(id: string, ofTenant: string): Promise<string> {
    const at = isoNow(clock)
    const rest = {
      description: '',
      status: 'active',
      version: 1,
      published_version: 1,
      created_by: null,
      created_at: at,
      updated_at: at,
    } as const
    await db
      .insertInto('boards')
      .values({ id, tenant_id: ofTenant, space_id: null, name: id, ...rest })
      .execute()
    return id
  }

  /** Publishes a board with these triggers; a new one if it is not there yet. */
  async function publish(
    triggers: readonly object[],
    given: Readonly<{ id?: string; spaceId?: string | null; startRoles?: string[]; tenantId?: string }> = {},
  ) {
    const { id: boardId = 'brd_1', spaceId = 'spc_1', startRoles = [], tenantId: ofTenant = tenantId } = given
    if (!(await db.selectFrom('boards').select('id').where('id', '=', boardId).executeTakeFirst())) await aBoard(boardId, ofTenant)
    const definition: BoardDefinition = sketch('s > e', {}, { triggers, startRoles })
    await db.transaction().execute((tx) => ports.replaceTriggers(tx, { tenantId: ofTenant, boardId, spaceId, definition }))
  }
  const archive = (boardId = 'brd_1') =>
    db.transaction().execute((tx) => ports.replaceTriggers(tx, { tenantId, boardId, spaceId: null, definition: null }))
  /** What a board's triggers saw, oldest first. */
  const seen = async (boardId = 'brd_1') =>
    (await occurrencesOf(db, { tenantId, boardId, limit: 500 })).toReversed().map(({ outcome, at, reason }) => ({ outcome, at, reason }))
  return { ...deps, ports, runs, started, sent, publish, archive, seen }
}

export type TriggersWorld = Awaited<ReturnType<typeof aTriggersWorld>>
