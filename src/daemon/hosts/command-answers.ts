import { sql } from 'kysely'
import { type BoxCommandKind, boxCommands, type CommandOutputs, type CommandSecrets, type Progress } from '../../core/boxes/index.ts'
import { parsePart } from '../../core/contract/index.ts'
import { addSteps, type CommandOutcome, type CommandStatus, channelLimits, type HeldCommand, isFinal } from '../../core/hosts/index.ts'
import { type AgentActor, type Clock, isoNow, problem } from '../../core/kit/index.ts'
import type { Tx } from '../db/index.ts'
import { type Command, commandById } from './command.repo.ts'
import type { HostsDeps } from './deps.ts'
import { heldCommand, lockHeldCommand, renew } from './held-commands.ts'
import { stepsOfCommands } from './told-steps.repo.ts'

/** Stores the steps told, newest kept and the first of each, and renews the lease. Progress of a finished command is passed over: it only came late. */
export async function takeProgress(deps: HostsDeps, agent: AgentActor, held: HeldCommand, progress: readonly Progress[]): Promise<void> {
  await deps.db.transaction().execute(async (tx) => {
    const command = await lockHeldCommand(tx, deps, agent, held)
    if (!(await renew(tx, deps, held))) return
    const [known] = await stepsOfCommands(tx, [held.id])
    const kept = [...command.progress, ...progress].slice(-channelLimits.progressPerCommand)
    await tx
      .updateTable('commands')
      .set({ progress: JSON.stringify(kept), steps: JSON.stringify(addSteps(known?.steps ?? [], progress)), revision: sql`revision + 1` })
      .where('id', '=', held.id)
      .execute()
  })
  deps.bus.changed(held.id)
}

/**
 * Stores what became of a command, once; a repeated call answers the same and changes nothing. A result for a command that the daemon had
 * given up is kept too, and read by its handler, but the command stays `expired`: whoever waited for it has acted on that.
 */
export async function takeResult(deps: HostsDeps, agent: AgentActor, held: HeldCommand, outcome: CommandOutcome): Promise<CommandStatus> {
  const status = await deps.db.transaction().execute(async (tx) => {
    const command = await lockHeldCommand(tx, deps, agent, held)
    if (isFinal(command.status) && (command.status !== 'expired' || command.result !== null)) return command.status
    return store(tx, deps, command, outcome)
  })
  deps.bus.changed(held.id)
  deps.bus.queued(agent.hostId) // its box is free
  return status
}

async function store(tx: Tx, { clock, boxes }: HostsDeps, command: Command, outcome: CommandOutcome): Promise<CommandStatus> {
  const result = outcome.ok ? parsePart(boxCommands[command.kind].result, outcome.result, 'outcome.result') : null
  const status = command.status === 'expired' ? 'expired' : outcome.ok ? 'succeeded' : 'failed'
  const done = await tx
    .updateTable('commands')
    .set({
      status,
      lease_until: null,
      heard_at: heardAt(clock, command),
      finished_at: command.finishedAt ?? isoNow(clock),
      result: result && JSON.stringify(result),
      ...(outcome.ok ? {} : { error: JSON.stringify(outcome.error) }),
      revision: sql`revision + 1`,
    })
    .where('id', '=', command.id)
    .where('status', '=', command.status)
    .where('lease_token', '=', command.leaseToken)
    .executeTakeFirst()
  if (done.numUpdatedRows === 0n) throw problem('UNAVAILABLE', `the command ${command.id} is changing just now: deliver again`)
  const stored = await commandById(tx, command.id)
  if (result) await handle(boxes.resultHandlers[command.kind], tx, stored, result)
  else await boxes.failureHandlers?.[command.kind]?.(tx, stored, { told: true })
  return status
}

/** After the end of one that was given up, also where another replica's clock is ahead: by that its late answer is told from silence. */
function heardAt(clock: Clock, { finishedAt }: Command): string {
  const now = isoNow(clock)
  return finishedAt === null || finishedAt < now ? now : new Date(Date.parse(finishedAt) + 1).toISOString()
}

type AnyHandler = ((tx: Tx, command: Command, result: never) => Promise<void>) | undefined
const handle = async (handler: AnyHandler, tx: Tx, command: Command, result: unknown) => handler?.(tx, command, result as never)

/** The secrets that the kind of the command may have, for its holder only. Throws NOT_FOUND, also once the command is finished. */
export async function commandSecrets({ db, boxes }: HostsDeps, agent: AgentActor, held: HeldCommand): Promise<CommandSecrets> {
  const command = await heldCommand(db, { boxes }, agent, held)
  if (isFinal(command.status))
    throw problem('NOT_FOUND', `the command ${held.id} is ${command.status}: its secrets are not given out any more`)
  const allowed: readonly string[] = boxCommands[command.kind as BoxCommandKind].secrets
  if (allowed.length === 0) return {}
  const found = await boxes.secretsFor(db, command)
  return Object.fromEntries(Object.entries(found).filter(([name]) => allowed.includes(name)))
}

/** Hands what was made on the host to the room that seals it. */
export async function takeOutputs(deps: HostsDeps, agent: AgentActor, held: HeldCommand, outputs: CommandOutputs): Promise<void> {
  await deps.db.transaction().execute(async (tx) => {
    const command = await heldCommand(tx, deps, agent, held)
    await deps.boxes.acceptOutputs(tx, command, outputs)
  })
}
