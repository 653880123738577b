import { alertOf } from '../../core/alerts/index.ts'
import { closeAlerts, raiseAlert } from '../alerts/index.ts'
import type { Tx } from '../db/index.ts'
import type { AppliedStep } from './apply-step.ts'
import type { StepDeps } from './deps.ts'
import type { Stalled } from './stalled-checkpoints.ts'

/** Raises and closes the alerts of a run. They contain ids and roles, never variables. */
export async function alertOperators(
  { clock }: Pick<StepDeps, 'clock'>,
  tx: Tx,
  { run, board, effects, stalled }: AppliedStep & Readonly<{ stalled: readonly Stalled[] }>,
): Promise<void> {
  const escalated = effects.flatMap((effect) => (effect.type === 'escalated' ? [effect.elementId] : []))
  const isDone = effects.some(
    (effect) =>
      (effect.type === 'closed' && (effect.token.escalated || board.graph.elements.get(effect.token.elementId)?.kind === 'checkpoint')) ||
      (effect.type === 'ended' && run.state.dueAt !== null),
  )
  if (escalated.length === 0 && stalled.length === 0 && !isDone) return
  const slug = await slugOf(tx, run.tenantId)
  if (isDone) {
    const kinds = ['checkpoint_stalled', 'run_overdue'] as const
    await closeAlerts(tx, clock, { subject: `${slug}/${run.id}`, kinds: [...kinds], because: 'the run went on' })
  }
  for (const elementId of escalated) await raiseAlert(tx, clock, alertOf.run_overdue({ slug, runId: run.id, elementId }))
  for (const one of stalled) await raiseAlert(tx, clock, alertOf.checkpoint_stalled({ slug, runId: run.id, ...one }))
}

export const slugOf = async (tx: Tx, tenantId: string): Promise<string> =>
  (await tx.selectFrom('tenants').select('slug').where('id', '=', tenantId).executeTakeFirstOrThrow()).slug
