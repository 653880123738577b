import { randomUUID } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileBoard, type RunState, startRun, stepRun } from '../../../../src/core/boards/index.ts'
import { isProblem, type ProblemCode } from '../../../../src/core/kit/index.ts'
import type { Db } from '../../../../src/daemon/db/index.ts'
import { fireTimers } from '../../../../src/daemon/flows/index.ts'
import { advanceRun } from '../../../../src/daemon/flows/runs/advance-run.ts'
import { firstSteps, type HistoryInput } from '../../../../src/daemon/flows/runs/history.repo.ts'
import { completeTask } from '../../../../src/daemon/tasks/move-task.ts'
import { boardText } from '../../../core/boards/random-board.ts'
import { onBothDialects } from '../../../support/databases.ts'
import { Died, mortal } from '../../../support/dying.ts'
import { aTasksWorld, principalOf, type TasksWorld } from '../../../support/tasks-world.ts'
import { aBoard, aRun, joined, storedSpace } from './a-board.ts'

const expected: readonly ProblemCode[] = ['ELEMENT_NOT_ACTIVE', 'RUN_ENDED', 'RUN_CHANGED', 'INVALID_TRANSITION', 'NOT_FOUND', 'CONFLICT']

/** Ignores what a race or a killed process may raise; anything else fails the test. */
const tolerant = (work: Promise<unknown>) =>
  work.catch((error: unknown) => {
    if (error instanceof Died || expected.some((code) => isProblem(error, code))) return
    throw error
  })

type Open = Readonly<{ elementId: string; kind: 'task' | 'form' | 'checkpoint'; taskId: string | null }>

/** One act of a user or of a timer, on a database that may die under it. */
async function act(room: TasksWorld, db: Db, { runId, open, chance }: { runId: string; open: Open | undefined; chance: () => number }) {
  const deps = { ...room, db }
  if (!open || chance() % 5 === 0) {
    await room.clock.advance(3_600_000)
    return fireTimers(deps)
  }
  // Who submits a form cannot approve.
  const user = await principalOf(room.db, open.kind === 'form' ? 'tim' : 'ben')
  if (open.taskId && chance() % 2 === 0) return completeTask(deps, user, { id: open.taskId })
  const actions = { task: 'complete', form: 'submit', checkpoint: chance() % 4 === 0 ? 'reject' : 'approve' } as const
  const action = actions[open.kind]
  const data = open.kind === 'form' ? { people: chance() } : undefined
  const key = randomUUID()
  const advance = (on: Db) =>
    advanceRun({ ...deps, db: on }, user, { id: runId, elementId: open.elementId, action, data, idempotencyKey: key })
  // A client without an answer sends its request again.
  return advance(db).catch((error) => (error instanceof Died ? advance(room.db) : Promise.reject(error)))
}

async function stateOf({ db }: TasksWorld, id: string): Promise<RunState> {
  return JSON.parse((await db.selectFrom('runs').select('state').where('id', '=', id).executeTakeFirstOrThrow()).state)
}

async function replayed(room: TasksWorld, boardId: string, runId: string): Promise<RunState> {
  const { definition } = await room.as('mia').showBoard({ params: { id: boardId } })
  const board = compileBoard(definition)
  const limits = { maxSteps: 10_000, maxCharacters: 100_000_000 }
  const { steps } = await firstSteps(room.db, { tenantId: 'ten_one', runId }, limits)
  const [first, ...rest] = steps.map(({ at, input }) => ({ at, input }))
  const begin = first?.input as Extract<HistoryInput, { type: 'start' }>
  return rest.reduce(
    (run, { at, input }) => stepRun({ board, now: at }, run, input as Exclude<HistoryInput, { type: 'start' }>).run,
    startRun({ board, now: first?.at as string }, begin).run,
  )
}

onBothDialects('random runs', (fresh) => {
  test('every run ends whatever dies or happens at once, and its history gives the same run', async () => {
    const room = await aTasksWorld(await fresh())
    await room.db.updateTable('users').set({ roles: '["teacher","school-principal"]' }).where('id', '=', 'ben').execute()
    await storedSpace(room, 'spc_4b')
    await joined(room, 'mia', 'spc_4b')
    const variables = [{ name: 'pick', type: 'number', required: true }]
    const chances = fc.infiniteStream(fc.nat(1_000))
    await fc.assert(
      fc.asyncProperty(boardText, fc.nat(2), chances, async (text, pick, stream) => {
        const chance = () => stream.next().value as number
        const boardId = await aBoard(room, text, {}, { variables })
        const { id: runId } = await aRun(room, boardId, { variables: { pick }, spaceId: 'spc_4b' })
        for (let round = 0; (await stateOf(room, runId)).finishedAt === null; round++) {
          expect(round, text).toBeLessThan(400)
          const { open } = await room.as('mia').showRun({ params: { id: runId } })
          const acts = Array.from({ length: 1 + (chance() % 3) }, () => {
            const db = chance() % 3 === 0 ? mortal(room.db, chance() % 25).db : room.db
            return tolerant(
              act(room, db, { runId, open: open[chance() % Math.max(open.length, 1)], chance: round < 40 ? chance : () => 1 }),
            )
          })
          await Promise.all(acts)
          if (round >= 40) await tolerant(act(room, room.db, { runId, open: undefined, chance }))
        }
        const state = await stateOf(room, runId)
        expect(state).toMatchObject({ tokens: [], joins: {} })
        expect(state.failure?.code ?? 'completed').toMatch(/^(completed|REJECTED)$/)
        expect(await replayed(room, boardId, runId)).toEqual(state)
        const { tasks } = await room.as('mia').listTasks({ query: { runId, limit: 100 } })
        expect(tasks.filter(({ status }) => status === 'open' || status === 'in_progress')).toEqual([])
        expect(await room.db.selectFrom('run_timers').select('run_id').execute()).toEqual([])
        const messages = await room.db.selectFrom('run_messages').select('token_id').where('run_id', '=', runId).execute()
        const jobs = await room.db.selectFrom('jobs').select('payload').where('key', 'like', `${runId} %`).execute()
        expect(jobs).toHaveLength(messages.length)
      }),
      { numRuns: 15 },
    )
  })
})
