import { type Actor, actorLabel, canonicalJson, problem, sha256Hex } from '../../core/kit/index.ts'
import { IdempotencyKey } from '../../core/rollouts/index.ts'
import type { Db } from '../db/index.ts'
import { rolloutByKey } from './rollouts.repo.ts'

/** A call that may come again: the same key from the same caller with the same wish makes one rollout. */
export type Repeat = Readonly<{ key: string; sum: string }>

/** `wanted` never holds a secret: its sum is kept. Throws VALIDATION for a key that is none. */
export function repeatOf(actor: Actor, wanted: unknown, key: string): Repeat {
  const refused = IdempotencyKey.safeParse(key).error?.issues[0]?.message
  if (refused !== undefined)
    throw problem('VALIDATION', `Idempotency-Key: ${refused}`, { details: [{ path: 'Idempotency-Key', reason: refused }] })
  return { key: keyOf(actor, key), sum: sha256Hex(canonicalJson(wanted)) }
}

/** Of two callers with the same key neither meets the other's rollout. */
export const keyOf = (actor: Actor, key: string): string => `${actorLabel(actor)} ${key}`

/** The rollout of the first such call. Throws CONFLICT when that one asked for something else. */
export async function madeBefore(db: Db, { key, sum }: Repeat): Promise<string | undefined> {
  const made = await rolloutByKey(db, key)
  if (made && made.sum !== sum)
    throw problem('CONFLICT', `this Idempotency-Key made the rollout ${made.id} with other options: use a new key for another rollout`)
  return made?.id
}
