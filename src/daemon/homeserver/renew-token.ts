import type { Fault } from '../../core/homeserver/index.ts'
import { isoIn, isoNow, randomText, Secret } from '../../core/kit/index.ts'
import { storedToken, storeToken, type TokenDeps, type TokenOf } from './stored-tokens.ts'

/** The daemon that logs in to a box at the moment. */
type RenewalTable = { box_id: string; token_of: TokenOf; owner: string; lease_until: string }

declare module '../db/database.ts' {
  interface Tables {
    chat_token_renewals: RenewalTable
  }
}

/** The logins of this daemon that are under way. */
export type Renewals = Map<string, Promise<Secret | Fault>>

/** Longer than all calls of one login. */
const maxLeaseMs = 90_000
const [stepMs, maxWaitMs] = [250, 15_000]

/** `refused`: the token that the chat server did not accept; undefined if none is stored. */
type Renewal = Readonly<{ of: TokenOf; boxId: string; refused: Secret | undefined; login: () => Promise<Secret | Fault> }>
type Deps = TokenDeps & Readonly<{ renewals: Renewals }>

/**
 * Logs in once for all callers on all daemons, because each login of a device may end the token of the one before: one caller has the lease, the
 * others wait for the token that it stores.
 */
export function renewOnce(deps: Deps, renewal: Renewal): Promise<Secret | Fault> {
  const { renewals } = deps
  const key = `${renewal.of} ${renewal.boxId}`
  const running = renewals.get(key) ?? renew(deps, renewal).finally(() => renewals.delete(key))
  renewals.set(key, running)
  return running
}

async function renew(deps: Deps, renewal: Renewal): Promise<Secret | Fault> {
  const { of, boxId, refused, login } = renewal
  const owner = randomText(deps.random, 16)
  for (let waitedMs = 0; waitedMs <= maxWaitMs; waitedMs += stepMs) {
    const isOwner = await acquire(deps, renewal, owner)
    try {
      // Read under the lease: its last owner may have stored one a moment ago.
      const stored = await storedToken(deps, of, boxId)
      if (stored && stored.reveal() !== refused?.reveal()) return stored
      if (isOwner) {
        const token = await login()
        if (token instanceof Secret) await storeToken(deps, { of, boxId, token })
        return token
      }
    } finally {
      if (isOwner) await release(deps, renewal, owner)
    }
    await deps.clock.sleep(stepMs)
  }
  return { kind: 'unreachable', retryAfterSeconds: 10, reason: 'another daemon is still logging in to it' }
}

async function acquire({ db, clock }: Deps, { of, boxId }: Renewal, owner: string): Promise<boolean> {
  const lease = { owner, lease_until: isoIn(clock, maxLeaseMs) }
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('chat_token_renewals')
    .values({ box_id: boxId, token_of: of, ...lease })
    .onConflict((c) => c.columns(['box_id', 'token_of']).doUpdateSet(lease).where('chat_token_renewals.lease_until', '<=', isoNow(clock)))
    .executeTakeFirst()
  return numInsertedOrUpdatedRows > 0n
}

const release = ({ db }: Deps, { of, boxId }: Renewal, owner: string) =>
  db.deleteFrom('chat_token_renewals').where('box_id', '=', boxId).where('token_of', '=', of).where('owner', '=', owner).execute()
