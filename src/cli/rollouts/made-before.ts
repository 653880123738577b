import type { Context } from '../kit/index.ts'

/** Whether a call with this key has made a rollout already: what the plan says by now does not concern that one any more. */
export async function wasMadeBefore({ api }: Pick<Context, 'api'>, idempotencyKey: string | undefined): Promise<boolean> {
  if (idempotencyKey === undefined) return false
  return (await api.rollouts.listRollouts({ query: { idempotencyKey, limit: 1 } })).rollouts.length > 0
}
