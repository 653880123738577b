// Signing keys and what became of the tokens signed with them: keys rotate, are sealed and published, each audience has its own;
// a sequence of revocations invalidates caches on every replica within a second.
// It never decides who may do what: a token says who and which session, the record says the rest.
import './auth.tables.ts'
import { authContract } from '../../core/auth/index.ts'
import { type Clock, isoNow } from '../../core/kit/index.ts'
import type { Db } from '../db/index.ts'
import { feature } from '../feature/index.ts'
import { serveContract } from '../http/index.ts'
import { type Revocations, revocationLoop } from './revocations.ts'
import { rotateSigningKeys } from './rotate-signing-keys.ts'
import { liveKeys } from './signing-keys.repo.ts'

type AuthDeps = Parameters<typeof rotateSigningKeys>[0] & Readonly<{ revocations: Revocations }>

export { openModuleTokens, type SignModuleToken } from './module-tokens.ts'
export { orUnavailable } from './or-unavailable.ts'
export { deleteOldRevocations, openRevocations, publishRevocation, type Revocations, type Revoked, revocationLoop } from './revocations.ts'
export { rotateSigningKeys } from './rotate-signing-keys.ts'
export { openSigningKeys, type SigningKeys } from './signing-keys.ts'

export const authRoutes = ({ db, clock }: { db: Db; clock: Clock }) =>
  serveContract(authContract, {
    jwks: async () => ({ keys: (await liveKeys(db, isoNow(clock))).map(({ publicKey }) => publicKey) }),
  })

export const authFeature = feature<AuthDeps>({
  name: 'auth',
  routes: authRoutes,
  loops: (deps) => [
    revocationLoop(deps.revocations),
    {
      name: 'rotate signing keys',
      everyMs: 60 * 60_000,
      run: async () => {
        await rotateSigningKeys(deps, 'admin')
        await rotateSigningKeys(deps, 'platform')
        await rotateSigningKeys(deps, 'module')
      },
    },
  ],
  sealed: [{ table: 'signing_keys', column: 'private_jwk', key: 'kid' }],
})
