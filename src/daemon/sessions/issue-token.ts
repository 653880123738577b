import { isoNow } from '../../core/kit/index.ts'
import { tokenLifetimeMs } from '../../core/sessions/index.ts'
import { matrixUserIdOf } from '../../core/users/index.ts'
import type { SessionsDeps } from './deps.ts'
import type { FoundSession } from './sessions.repo.ts'

type Issuing = Pick<FoundSession, 'id' | 'localpart' | 'tenantId' | 'chatDomain' | 'expiresAt'>

/** A platform token for a session: who, which tenant, which session, and nothing of what they may do. `expiresIn` is in seconds. */
export async function issueToken(
  { keys, clock }: Pick<SessionsDeps, 'keys' | 'clock'>,
  { id, localpart, tenantId, chatDomain, expiresAt }: Issuing,
): Promise<{ token: string; expiresIn: number }> {
  const lifetimeMs = tokenLifetimeMs(isoNow(clock), expiresAt)
  const { token } = await keys.sign({ sub: matrixUserIdOf(localpart, chatDomain), tid: tenantId, fam: id }, lifetimeMs)
  return { token, expiresIn: lifetimeMs / 1000 }
}
