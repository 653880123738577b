import { z } from 'zod'
import { alertKey } from '../../../core/alerts/index.ts'
import type { RunEffect } from '../../../core/boards/index.ts'
import type { Homeservers } from '../../../core/homeserver/index.ts'
import { chatQueue } from '../../../core/jobs/index.ts'
import { type Clock, isProblem, type TenantId } from '../../../core/kit/index.ts'
import { raiseAlert } from '../../alerts/index.ts'
import { type Db, insertJobs, insertRows, type JobHandler, type Tx, type Write } from '../../db/index.ts'
import { recordEvent } from '../../events/index.ts'
import { sendAsBot } from '../../homeserver/index.ts'
import { findSpace, roomsOfTenant, spaceOfRoom } from '../../spaces/index.ts'
import type { RunsDeps, StepDeps } from './deps.ts'
import type { AppliedStep } from './step.types.ts'

/** Job: send a message of a run. Its text is in the row, not in the job, which operators can read. */
const messageTopic = 'chat.run-message'

type Message = Extract<RunEffect, { type: 'message' }>

/** The messages of a step, and a job for each. Those of one run to one room are sent in order; a refused one delays no other room. */
export function enqueueMessages({ clock }: Pick<StepDeps, 'clock'>, { run, effects, at }: AppliedStep): Write[] {
  const { id: runId, tenantId } = run
  const messages = effects.filter((effect): effect is Message => effect.type === 'message')
  if (messages.length === 0) return []
  const rows = messages.map(({ tokenId, elementId, room, body }) => ({
    ...{ run_id: runId, token_id: tokenId, tenant_id: tenantId, element_id: elementId, room, body, created_at: at },
    ...{ status: 'pending' as const, matrix_event_id: null },
  }))
  const jobs = messages.map(({ tokenId, room }) => ({
    ...{ topic: messageTopic, payload: { tenantId, runId, tokenId } },
    ...chatQueue({ tenantId, what: 'messages', key: `${runId} ${room}` }),
  }))
  return [insertRows('run_messages', rows), insertJobs(clock, jobs)]
}

const Payload = z.object({ tenantId: z.string(), runId: z.string(), tokenId: z.string() })
type OneMessage = z.infer<typeof Payload>

type Deps = Pick<RunsDeps, 'db' | 'clock' | 'log' | 'sendMessage'>

/** Attempts of a message whose room the chat server refuses, within half a minute: the bot may be joined to the room meanwhile. */
const maxRefusals = 5

/**
 * The job waits while the chat server is not available, such as during an update of the box. The transaction id is that of the token, so a job that
 * runs twice within a day sends once: the chat server remembers it for the bot's device. A message that the server still refuses is marked as failed, so that the next one to that room is sent; the run continued
 * long ago.
 */
export const messageJobs = (deps: Deps): Readonly<Record<string, JobHandler>> => ({
  [messageTopic]: async (payload, { last, attempt = 1 }) => {
    const one = Payload.parse(payload)
    const message = await pendingMessage(deps, one)
    if (!message) return
    try {
      const roomId = await roomOf(deps, one, message)
      const transactionId = `${one.runId}.${one.tokenId}`
      const eventId =
        roomId === undefined ? null : await deps.sendMessage({ tenantId: one.tenantId, roomId, body: message.body, transactionId })
      await record(deps, one, eventId !== null && roomId !== undefined ? { eventId, roomId } : null)
    } catch (err) {
      const isRefused = isProblem(err, 'PAYLOAD_TOO_LARGE') || (isProblem(err, 'NO_ROOM') && attempt >= maxRefusals)
      if (!(last || isRefused) || isProblem(err, 'HOMESERVER_UNREACHABLE')) throw err
      deps.log.warn({ err, ...one }, 'a message of a run was not sent')
      await record(deps, one, null)
    }
  },
})

type Pending = Readonly<{ room: string; body: string; spaceId: string | null }>

async function pendingMessage({ db }: Pick<Deps, 'db'>, { tenantId, runId, tokenId }: OneMessage): Promise<Pending | undefined> {
  const row = await db
    .selectFrom('run_messages')
    .innerJoin('runs', 'runs.id', 'run_messages.run_id')
    .select(['run_messages.room', 'run_messages.body', 'runs.space_id'])
    .where('run_messages.tenant_id', '=', tenantId)
    .where('run_messages.run_id', '=', runId)
    .where('run_messages.token_id', '=', tokenId)
    .where('run_messages.status', '=', 'pending')
    .executeTakeFirst()
  return row && { room: row.room, body: row.body, spaceId: row.space_id }
}

/** Undefined for a room of a space that was deleted. A room that is still being created is a reason to try again. */
async function roomOf({ db }: Pick<Deps, 'db'>, { tenantId }: OneMessage, { room, spaceId }: Pending): Promise<string | undefined> {
  if (room !== 'space') return (await roomsOfTenant(db, { tenantId })).includes(room) ? room : undefined
  const space = spaceId === null ? undefined : await findSpace(db, { tenantId: tenantId as TenantId, spaceId })
  if (!space) return undefined
  if (space.roomId === null) throw new Error(`the room of space ${spaceId} does not exist yet`)
  return space.roomId
}

type Sent = Readonly<{ eventId: string; roomId: string }>

/** Without an event id the message was not sent and is not tried again: operators get an alert. */
async function record({ db, clock }: Pick<Deps, 'db' | 'clock'>, { tenantId, runId, tokenId }: OneMessage, sent: Sent | null) {
  await db.transaction().execute(async (tx) => {
    const change = { status: sent ? ('sent' as const) : ('failed' as const), matrix_event_id: sent?.eventId ?? null }
    const query = tx.updateTable('run_messages').set(change)
    await query.where('tenant_id', '=', tenantId).where('run_id', '=', runId).where('token_id', '=', tokenId).execute()
    if (sent) return publishNotice(tx, clock, { tenantId, runId, roomId: sent.roomId })
    const { slug, board_id, element_id } = await tx
      .selectFrom('run_messages')
      .innerJoin('runs', 'runs.id', 'run_messages.run_id')
      .innerJoin('tenants', 'tenants.id', 'run_messages.tenant_id')
      .select(['tenants.slug', 'runs.board_id', 'run_messages.element_id'])
      .where('run_messages.tenant_id', '=', tenantId)
      .where('run_messages.run_id', '=', runId)
      .where('run_messages.token_id', '=', tokenId)
      .executeTakeFirstOrThrow()
    await raiseAlert(tx, clock, {
      kind: 'run_output_failed',
      key: alertKey('run_output_failed', `${runId}:${element_id}`),
      subject: `${slug}/${runId}`,
      title: `A message of a run of ${slug} was not sent`,
      body:
        `The chat server refused the message of the element ${element_id} in run ${runId} of board ${board_id}, it is too long, or its room ` +
        'was deleted. It is not sent again. The run continued.\n' +
        'Ask the school to inform the people concerned, and to correct the room in the board.',
      command: `tenantry runs show ${runId} --tenant ${slug}`,
    })
  })
}

/** The platform wrote in the room of a space: published to its members. */
async function publishNotice(
  tx: Tx,
  clock: Clock,
  { tenantId, runId, roomId }: Readonly<{ tenantId: string; runId: string; roomId: string }>,
) {
  const spaceId = (await spaceOfRoom(tx, { tenantId, roomId })) ?? null
  const audience = spaceId === null ? {} : { spaces: [spaceId] }
  // The run is the cause: a board that answers its own notices ends after a few runs.
  await recordEvent(tx, clock, { tenantId, type: 'message.notice', payload: { roomId, spaceId, runId }, audience })
}

/** Sends a message of a run as the platform's bot. */
export const sendRunMessage =
  ({ db, homeservers }: Readonly<{ db: Db; homeservers: Homeservers }>): RunsDeps['sendMessage'] =>
  async ({ tenantId, ...message }) => {
    const tenant = await db.selectFrom('tenants').select('chat_domain').where('id', '=', tenantId).executeTakeFirstOrThrow()
    return sendAsBot({ homeserver: homeservers.of(tenantId as TenantId), chatDomain: tenant.chat_domain }, message)
  }
