// Signing keys and what became of the tokens signed with them: keys rotate, are sealed and published, each audience has its own;
// a sequence of revocations invalidates caches on every replica within a second.
// It never decides who may do what: a token says who and which session, the record says the rest.
import './auth.tables.ts'
import type { Logger } from '../../node/index.ts'
import { feature, repeat } from '../feature/index.ts'
import { authRoutes } from './auth.routes.ts'
import { rotateSigningKeys } from './rotate-signing-keys.ts'

type AuthDeps = Parameters<typeof rotateSigningKeys>[0] & Readonly<{ log: Logger }>

export { authRoutes } from './auth.routes.ts'
export { openModuleTokens, type SignModuleToken } from './module-tokens.ts'
export { orUnavailable } from './or-unavailable.ts'
export { deleteOldRevocations, publishRevocation, type Revocations, type Revoked, watchRevocations } from './revocations.ts'
export { rotateSigningKeys } from './rotate-signing-keys.ts'
export { openSigningKeys, type SigningKeys } from './signing-keys.ts'

export const authFeature = feature<AuthDeps>({
  name: 'auth',
  routes: authRoutes,
  loops: (deps) => [
    repeat(deps, {
      everyMs: 60 * 60_000,
      name: 'rotation of signing keys',
      run: async () => {
        await rotateSigningKeys(deps, 'admin')
        await rotateSigningKeys(deps, 'platform')
        await rotateSigningKeys(deps, 'module')
      },
    }),
  ],
  sealed: [{ table: 'signing_keys', column: 'private_jwk', key: 'kid' }],
})
