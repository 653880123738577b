import { isProblem } from '../../core/kit/index.ts'
import type { Context } from '../kit/index.ts'

/**
 * Whether a call with this key has made a rollout already: what the plan says by now does not concern that one any more. An older daemon refuses
 * the question, and is asked for a plan first, as ever.
 */
export async function wasMadeBefore({ api }: Pick<Context, 'api'>, idempotencyKey: string | undefined): Promise<boolean> {
  if (idempotencyKey === undefined) return false
  try {
    return (await api.rollouts.listRollouts({ query: { idempotencyKey, limit: 1 } })).rollouts.length > 0
  } catch (error) {
    if (isProblem(error, 'VALIDATION')) return false
    throw error
  }
}
