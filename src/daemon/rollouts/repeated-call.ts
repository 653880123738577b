import { type Actor, actorLabel, canonicalJson, problem, sha256Hex } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { rolloutByKey } from './rollouts.repo.ts'

/** A call that may come again: the same key from the same caller with the same wish makes one rollout. */
export type Repeat = Readonly<{ key: string; sum: string }>

/** `wanted` never holds a secret: its sum is kept. */
export function repeatOf(actor: Actor, wanted: unknown, key: string): Repeat {
  if (!/^[\x21-\x7e]{1,200}$/.test(key))
    throw problem('VALIDATION', 'Idempotency-Key: must be 1 to 200 printable characters without spaces', {
      details: [{ path: 'Idempotency-Key', reason: 'must be 1 to 200 printable characters without spaces' }],
    })
  return { key: `${actorLabel(actor)} ${key}`, sum: sha256Hex(canonicalJson(wanted)) }
}

/** The rollout of the first such call. Throws CONFLICT when that one asked for something else. */
export async function madeBefore(db: Db, { key, sum }: Repeat): Promise<string | undefined> {
  const made = await rolloutByKey(db, key)
  if (made && made.sum !== sum)
    throw problem('CONFLICT', `this Idempotency-Key made the rollout ${made.id} with other options: use a new key for another rollout`)
  return made?.id
}
