import { z } from 'zod'
import { answerEveryMs, type ChatAnswer, chatAnswer } from '../../../core/boards/index.ts'
import { chatQueue } from '../../../core/jobs/index.ts'
import { type Clock, isProblem } from '../../../core/kit/index.ts'
import { enqueueJob, type JobHandler, type Tx } from '../../db/index.ts'
import { findBoard } from '../boards/boards.repo.ts'
import type { TriggersDeps } from './deps.ts'
import { hasChatOutcomeSince } from './occurrences.repo.ts'
import { activeTenant } from './triggers.repo.ts'

/** Job: the bot answers a message that started nothing. */
const answerTopic = 'chat.trigger-answer'

const outcomeOf = { open: 'skipped', cooldown: 'skipped', late: 'missed', failed: 'failed' } as const satisfies Record<
  ChatAnswer['why'],
  string
>

type Unanswered = Readonly<{ tenantId: string; boardId: string; roomId: string; occurrence: string; answer: ChatAnswer }>

/** Answers in the room, in the transaction that recorded the message. If the board answered there already for the same run, it does not again for a while. */
export async function enqueueAnswer(tx: Tx, clock: Clock, { tenantId, boardId, roomId, occurrence, answer }: Unanswered): Promise<void> {
  const slot = Math.floor(clock.now().getTime() / answerEveryMs)
  const slotAt = new Date(slot * answerEveryMs).toISOString()
  const since = answer.startedAt !== null && answer.startedAt > slotAt ? answer.startedAt : slotAt
  const outcome = outcomeOf[answer.why]
  if (await hasChatOutcomeSince(tx, { tenantId, boardId, roomId, outcome, not: occurrence }, since)) return
  const transactionId = ['trigger', boardId, roomId, answer.why, answer.startedAt ?? '', slot].join(' ')
  await enqueueJob(tx, clock, {
    topic: answerTopic,
    payload: { tenantId, boardId, roomId, answer, transactionId, at: clock.now().toISOString() },
    ...chatQueue({ tenantId, what: 'messages', key: `trigger ${roomId}` }),
  })
}

const Payload = z.object({
  ...{ tenantId: z.string(), boardId: z.string(), roomId: z.string(), transactionId: z.string(), at: z.string() },
  answer: z.object({ why: z.enum(['open', 'cooldown', 'late', 'failed']), startedAt: z.string().nullable() }),
})

/** A later answer would confuse: a run may have started meanwhile. */
const maxAgeMs = 15 * 60_000
/** The bot may be joined to the room meanwhile. */
const maxRefusals = 5

type Deps = Pick<TriggersDeps, 'db' | 'clock' | 'log' | 'timeZone' | 'sendMessage'>

/** Waits while the chat server is not available, such as during an update of the box, but not longer than the answer is of use. */
export const answerJobs = (deps: Deps): Readonly<Record<string, JobHandler>> => ({
  [answerTopic]: async (payload, { last, attempt = 1 }) => {
    const { tenantId, boardId, roomId, transactionId, answer, at } = Payload.parse(payload)
    const tenant = await activeTenant(deps.db, tenantId)
    const board = await findBoard(deps.db, { tenantId, id: boardId })
    if (!tenant || !board || deps.clock.now().getTime() - Date.parse(at) > maxAgeMs) return
    const body = chatAnswer({ ...answer, board: board.name, timeZone: tenant.timeZone ?? deps.timeZone })
    try {
      await deps.sendMessage({ tenantId, roomId, body, transactionId })
    } catch (err) {
      if (isProblem(err, 'HOMESERVER_UNREACHABLE') || (!last && attempt < maxRefusals)) throw err
      deps.log.warn({ err, tenantId, boardId }, 'a message that started no run was not answered')
    }
  },
})
