import { sql } from 'kysely'
import { type BoxCommandKind, boxCommands, type CommandOutputs, type CommandSecrets, type Progress } from '../../core/boxes/index.ts'
import { parsePart } from '../../core/contract/index.ts'
import { addSteps, type CommandOutcome, type CommandStatus, channelLimits, type HeldCommand, isFinal } from '../../core/hosts/index.ts'
import { type AgentActor, type Clock, isoNow, problem } from '../../core/kit/index.ts'
import type { Tx, WithTx } from '../db/index.ts'
import { type Command, commandById, stepsOfCommands } from './commands.repo.ts'
import type { HostsDeps } from './deps.ts'
import { leasedCommand, lockLeasedCommand, renewLease } from './leased-commands.ts'

/** Stores progress (the newest entries, and the first of each step) and renews the lease. Late progress of a finished command is ignored. */
export async function storeProgress(
  deps: HostsDeps,
  { agent, held }: Readonly<{ agent: AgentActor; held: HeldCommand }>,
  progress: readonly Progress[],
): Promise<void> {
  await deps.db.transaction().execute(async (tx) => {
    const command = await lockLeasedCommand({ ...deps, tx }, agent, held)
    if (!(await renewLease(tx, deps, held))) return
    const [known] = await stepsOfCommands(tx, [held.id])
    const newest = [...command.progress, ...progress].slice(-channelLimits.progressPerCommand)
    await tx
      .updateTable('commands')
      .set({ progress: JSON.stringify(newest), steps: JSON.stringify(addSteps(known?.steps ?? [], progress)), revision: sql`revision + 1` })
      .where('id', '=', held.id)
      .execute()
  })
  deps.bus.changed(held.id)
}

/**
 * Stores the outcome of a command once; a repeated call returns the same status. The late result of an expired command, or of one that its
 * agent first reported as failed, is stored and handled too, but the status stays, because others have acted on it.
 */
export async function storeResult(
  deps: HostsDeps,
  { agent, held }: Readonly<{ agent: AgentActor; held: HeldCommand }>,
  outcome: CommandOutcome,
): Promise<CommandStatus> {
  const status = await deps.db.transaction().execute(async (tx) => {
    const command = await lockLeasedCommand({ ...deps, tx }, agent, held)
    if (isFinal(command.status) && !isNews(command, outcome)) return command.status
    return storeOutcome({ ...deps, tx }, command, outcome)
  })
  deps.bus.changed(held.id)
  deps.bus.queued(agent.hostId) // the box is free for the next command
  return status
}

/** Whether an outcome says more than the stored end of the command. An agent that could not finish reports a failure, and later the result. */
const isNews = ({ status, result }: Command, { ok }: CommandOutcome): boolean =>
  result === null && (status === 'expired' || (status === 'failed' && ok))

async function storeOutcome({ clock, boxes, tx }: WithTx<HostsDeps>, command: Command, outcome: CommandOutcome): Promise<CommandStatus> {
  const result = outcome.ok ? parsePart(boxCommands[command.kind].result, outcome.result, 'outcome.result') : null
  const status = isFinal(command.status) ? command.status : outcome.ok ? 'succeeded' : 'failed'
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
  if (done.numUpdatedRows === 0n) throw problem('UNAVAILABLE', `Command ${command.id} is being changed concurrently. fix: retry`)
  const stored = await commandById(tx, command.id)
  if (result) await (boxes.resultHandlers[command.kind] as AnyHandler | undefined)?.(tx, stored, result as never)
  else await boxes.failureHandlers?.[command.kind]?.(tx, stored, { reported: true })
  return status
}

/** Later than `finishedAt` even under clock skew between replicas: that marks the late answer of an expired command. */
export function heardAt(clock: Clock, { finishedAt }: Pick<Command, 'finishedAt'>): string {
  const now = isoNow(clock)
  return finishedAt === null || finishedAt < now ? now : new Date(Date.parse(finishedAt) + 1).toISOString()
}

type AnyHandler = (tx: Tx, command: Command, result: never) => Promise<void>

/** The secrets declared by the command's kind, for the agent that leased it. Throws NOT_FOUND, also for a finished command. */
export async function commandSecrets({ db, boxes }: HostsDeps, agent: AgentActor, held: HeldCommand): Promise<CommandSecrets> {
  const command = await leasedCommand({ boxes, db }, agent, held)
  if (isFinal(command.status)) throw problem('NOT_FOUND', `Command ${held.id} is ${command.status}; its secrets are no longer available.`)
  const allowed: readonly string[] = boxCommands[command.kind as BoxCommandKind].secrets
  if (allowed.length === 0) return {}
  const found = await boxes.secretsFor(db, command)
  return Object.fromEntries(Object.entries(found).filter(([name]) => allowed.includes(name)))
}

/** Passes secrets made on the host to the feature that seals them. */
export async function storeOutputs(
  deps: HostsDeps,
  { agent, held }: Readonly<{ agent: AgentActor; held: HeldCommand }>,
  outputs: CommandOutputs,
): Promise<void> {
  await deps.db.transaction().execute(async (tx) => {
    const command = await leasedCommand({ ...deps, db: tx }, agent, held)
    await deps.boxes.acceptOutputs(tx, command, outputs)
  })
}
